// SPDX-License-Identifier: Apache-2.0
// Sending a signal to a thread hands over what was done before, and not what comes later.
// tsan: never ends (a signal waits for the next library call)
#include "turns.h"

#include <signal.h>
#include <unistd.h>

int shared;
volatile sig_atomic_t seen;

static void handler(int number, siginfo_t* information, void* context) {
  use((long long)information + (long long)context + number);
  order_await(2);
  use(shared);  // race
  order_reach(3);
}

static void* target(void* argument) {
  order_reach(1);
  order_await(3);
  return argument;
}

int main(void) {
  struct sigaction action = {0};
  pthread_t thread;
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGUSR1, &action, NULL);
  pthread_create(&thread, NULL, target, NULL);
  order_await(1);
  pthread_kill(thread, SIGUSR1);
  shared = 1;  // race
  order_reach(2);
  pthread_join(thread, NULL);
  return 0;
}
