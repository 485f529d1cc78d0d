// SPDX-License-Identifier: Apache-2.0
// Children that have nothing to do with it: pipes that were made after the child was started, and all
// pipes again when it has ended.
#include "turns.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int old_pipes[2][2];
int new_pipes[2][2];
int while_child_lives;
int after_child;

static void first(void) {
  while_child_lives = 1;  // race: lives
  if (write(new_pipes[0][1], "x", 1) != 1) abort();
}

static void second(void) {
  char byte;
  if (read(new_pipes[1][0], &byte, 1) != 1) abort();
  use(while_child_lives);  // race: lives
}

static void third(void) {
  after_child = 1;  // race: after
  if (write(old_pipes[0][1], "x", 1) != 1) abort();
}

static void fourth(void) {
  char byte;
  if (read(old_pipes[1][0], &byte, 1) != 1) abort();
  use(after_child);  // race: after
}

int main(void) {
  int child;
  int i;
  for (i = 0; i < 2; i++) {
    if (pipe(old_pipes[i]) != 0) return 1;
    if (write(old_pipes[i][1], "x", 1) != 1) return 1;
  }
  child = fork();
  if (child == 0) {
    char byte;
    if (read(old_pipes[0][0], &byte, 1) != 1) _exit(1);
    pause();
    _exit(0);
  }
  for (i = 0; i < 2; i++) {
    if (pipe(new_pipes[i]) != 0) return 1;
    if (write(new_pipes[i][1], "x", 1) != 1) return 1;
  }
  in_turn(first, second);
  kill(child, 9);
  if (waitpid(child, NULL, 0) != child) return 2;
  if (system("true") != 0) return 3;
  order_store(&order_now, 0);
  in_turn(third, fourth);
  return 0;
}
