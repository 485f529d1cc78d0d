// SPDX-License-Identifier: Apache-2.0
// A writer is ordered after all readers before it, not only after the last.
#include "turns.h"

pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
int notes[3];

static void reader(int index) {
  pthread_rwlock_rdlock(&lock);
  notes[index] = 1;
  pthread_rwlock_unlock(&lock);
}

static void first(void) { reader(0); }
static void second(void) { reader(1); }

static void writer(void) {
  pthread_rwlock_wrlock(&lock);
  notes[0]++;
  notes[1]++;
  pthread_rwlock_unlock(&lock);
}

int main(void) {
  in_turn_3(first, second, writer);
  return notes[0] == 2 && notes[1] == 2 ? 0 : 1;
}
