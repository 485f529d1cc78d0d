// SPDX-License-Identifier: Apache-2.0
// Two semaphores of one set: raising one orders nobody who lowers the other. Nor does
// a second raise order who raised first.
#include "turns.h"

#include <sys/ipc.h>
#include <sys/sem.h>

int set;
int other;
int both_raise;

static void change(int number, int by) {
  struct sembuf operation = {(unsigned short)number, (short)by, 0};
  if (semop(set, &operation, 1) != 0) abort();
}

static void first(void) {
  other = 1;       // race: other
  both_raise = 1;  // race: raise
  change(0, 1);
}

static void second(void) {
  change(1, -1);
  use(other);  // race: other
  change(0, 1);
  use(both_raise);  // race: raise
}

int main(void) {
  set = semget(IPC_PRIVATE, 2, 0600);
  if (set < 0) return 1;
  change(1, 1);
  in_turn(first, second);
  semctl(set, 0, IPC_RMID);
  return 0;
}
