// SPDX-License-Identifier: Apache-2.0
// A timer interrupts threads at any instruction while they lock, allocate and
// write; the handler counts.
#include "turns.h"

#include <signal.h>
#include <string.h>
#include <sys/time.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int counter;
long seen;

static void handler(int number) {
  char local[64];
  memset(local, number, opaque(sizeof local));
  use(local[opaque(3)]);
  __atomic_fetch_add(&seen, 1, __ATOMIC_SEQ_CST);
}

static void body(int index) {
  for (int i = 0; i < 20000 && (i < 2000 || __atomic_load_n(&seen, __ATOMIC_RELAXED) < 50); i++) {
    char* block = malloc(64 + (size_t)index);
    memset(block, i, 64);
    pthread_mutex_lock(&lock);
    counter += block[3] != 0 || i >= 0;
    pthread_mutex_unlock(&lock);
    free(block);
  }
}

int main(void) {
  struct itimerval every = {{0, 500}, {0, 500}};
  struct sigaction action = {0};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &action, NULL);
  setitimer(ITIMER_REAL, &every, NULL);
  at_once(3, body);
  memset(&every, 0, sizeof every);
  setitimer(ITIMER_REAL, &every, NULL);
  return counter >= 6000 ? 0 : 1;
}
