// SPDX-License-Identifier: Apache-2.0
// Semaphores of System V: raised and lowered, waited for at zero, set and looked at.
#include "turns.h"

#include <sys/ipc.h>
#include <sys/sem.h>

int set;
int raised;
int lowered;
int was_set;
int removed;

static void change(int number, int by) {
  struct sembuf operation = {(unsigned short)number, (short)by, 0};
  if (semop(set, &operation, 1) != 0) abort();
}

static void first(void) {
  raised = 1;
  change(0, 1);
  lowered = 1;
  change(1, -1);
  was_set = 1;
  if (semctl(set, 2, SETVAL, 1) != 0) abort();
}

static void second(void) {
  struct timespec limit = {10, 0};
  struct sembuf operation = {0, -1, 0};
  if (semtimedop(set, &operation, 1, &limit) != 0) abort();
  raised++;
  change(1, 0);
  lowered++;
  while (semctl(set, 2, GETVAL) != 1) {
  }
  was_set++;
}

static void* waiter(void* argument) {
  struct sembuf operation = {3, -1, 0};
  order_reach(20);
  while (semop(set, &operation, 1) == 0) {
  }
  removed++;
  return argument;
}

int main(void) {
  pthread_t thread;
  set = semget(IPC_PRIVATE, 4, 0600);
  if (set < 0) return 1;
  change(1, 1);
  in_turn(first, second);
  pthread_create(&thread, NULL, waiter, NULL);
  order_await(20);
  removed = 1;
  if (semctl(set, 0, IPC_RMID) != 0) return 1;
  pthread_join(thread, NULL);
  return raised == 2 && lowered == 2 && was_set == 2 && removed == 2 ? 0 : 1;
}
