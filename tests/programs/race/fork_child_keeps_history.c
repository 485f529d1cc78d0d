// SPDX-License-Identifier: Apache-2.0
// What the parent's other thread did before the fork is still unordered with the
// child's only thread: it did not synchronise with it. Found in the parent.
#include "turns.h"

#include <sys/wait.h>
#include <unistd.h>

int shared;

static void first(void) { shared = 1; }  // race

static void second(void) {
  shared = 2;  // race
  pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < 100; i++) free(malloc(100));
    _exit(0);
  }
  waitpid(child, NULL, 0);
}

int main(void) {
  in_turn(first, second);
  return 0;
}
