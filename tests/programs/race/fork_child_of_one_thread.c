// SPDX-License-Identifier: Apache-2.0
// The child of a parent without threads.
// tsan: the exit status of the parent does not tell
#include "turns.h"

#include <sys/wait.h>
#include <unistd.h>

int shared;

static void first(void) { shared = 1; }   // race
static void second(void) { shared = 2; }  // race

int main(void) {
  pid_t child = fork();
  if (child == 0) {
    in_turn(first, second);
    exit(0);
  }
  waitpid(child, NULL, 0);
  return 0;
}
