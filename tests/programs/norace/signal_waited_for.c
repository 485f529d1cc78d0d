// SPDX-License-Identifier: Apache-2.0
// Signals that are blocked and fetched with sigwait.
#include "turns.h"

#include <signal.h>

static void* waiter(void* argument) {
  sigset_t* set = argument;
  int number = 0;
  for (int i = 0; i < 10; i++) {
    if (sigwait(set, &number) != 0 || number != SIGUSR1) abort();
    order_reach(i + 1);
  }
  return NULL;
}

int main(void) {
  sigset_t set;
  pthread_t thread;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &set, NULL);
  pthread_create(&thread, NULL, waiter, &set);
  for (int i = 0; i < 10; i++) {
    pthread_kill(thread, SIGUSR1);
    order_await(i + 1);
  }
  pthread_join(thread, NULL);
  return 0;
}
