// SPDX-License-Identifier: Apache-2.0
// Parent and child write the same address, each in its own memory.
#include "turns.h"

#include <sys/wait.h>
#include <unistd.h>

int shared;

int main(void) {
  int status = 0;
  pid_t child = fork();
  shared = child == 0 ? 1 : 2;
  if (child == 0) exit(shared == 1 ? 0 : 1);
  waitpid(child, &status, 0);
  return shared == 2 && WEXITSTATUS(status) == 0 ? 0 : 1;
}
