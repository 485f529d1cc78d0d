// SPDX-License-Identifier: Apache-2.0
// The parent goes on detecting after a fork.
#include "turns.h"

#include <sys/wait.h>
#include <unistd.h>

int shared;

static void first(void) {
  shared = 1;  // race
  pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, NULL, 0);
}

static void second(void) { shared = 2; }  // race

int main(void) {
  in_turn(first, second);
  return 0;
}
