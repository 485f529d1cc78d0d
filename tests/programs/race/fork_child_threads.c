// SPDX-License-Identifier: Apache-2.0
// A parent with threads forks; the child creates threads of its own, which race.
// tsan: dies (or ignores all) in the child
#include "turns.h"

#include <sys/wait.h>
#include <unistd.h>

int shared;

static void first(void) { shared = 1; }   // race
static void second(void) { shared = 2; }  // race

static void* idle(void* argument) {
  order_await(100);
  return argument;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, idle, NULL);
  pid_t child = fork();
  if (child == 0) {
    in_turn(first, second);
    _exit(0);
  }
  waitpid(child, NULL, 0);
  order_reach(100);
  pthread_join(thread, NULL);
  return 0;
}
