// SPDX-License-Identifier: Apache-2.0
// A handler on a stack of its own, in several threads.
#include "turns.h"

#include <signal.h>
#include <string.h>

static void handler(int number) {
  char local[2000];
  memset(local, number, opaque(sizeof local));
  use(local[opaque(1999)]);
}

static void body(int index) {
  stack_t stack = {0};
  stack.ss_size = 65536;
  stack.ss_sp = malloc(stack.ss_size);
  sigaltstack(&stack, NULL);
  for (int i = 0; i < 50; i++) raise(SIGUSR2);
  stack.ss_flags = SS_DISABLE;
  sigaltstack(&stack, NULL);
  free(stack.ss_sp);
  use(index);
}

int main(void) {
  struct sigaction action = {0};
  action.sa_handler = handler;
  action.sa_flags = SA_ONSTACK;
  sigaction(SIGUSR2, &action, NULL);
  at_once(4, body);
  return 0;
}
