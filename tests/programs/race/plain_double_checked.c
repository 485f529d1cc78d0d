// SPDX-License-Identifier: Apache-2.0
// Double-checked locking with an ordinary flag.
// tsan: clang reports one race per word
#include "turns.h"

int ready;
int value;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void first(void) {
  pthread_mutex_lock(&lock);
  value = 42;  // race: value
  ready = 1;   // race: flag
  pthread_mutex_unlock(&lock);
}

static void second(void) {
  if (ready) {   // race: flag
    use(value);  // race: value
  }
}

int main(void) {
  in_turn(first, second);
  return 0;
}
