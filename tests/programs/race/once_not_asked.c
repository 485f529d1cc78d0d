// SPDX-License-Identifier: Apache-2.0
// The reader does not pass through pthread_once.
#include "turns.h"

pthread_once_t once = PTHREAD_ONCE_INIT;
int shared;

static void initialise(void) {
  shared = 1;  // race
}

static void first(void) { pthread_once(&once, initialise); }
static void second(void) { use(shared); }  // race

int main(void) {
  in_turn(first, second);
  return 0;
}
