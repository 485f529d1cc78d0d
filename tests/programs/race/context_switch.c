// SPDX-License-Identifier: Apache-2.0
// Contexts that are switched within a thread belong to that thread.
#include "turns.h"

#include <ucontext.h>

int shared;
static __thread ucontext_t main_context;
static __thread ucontext_t other_context;

static void other(void) {
  shared++;  // race
  swapcontext(&other_context, &main_context);
}

static void step(void) {
  char* stack = malloc(1 << 16);
  getcontext(&other_context);
  other_context.uc_stack.ss_sp = stack;
  other_context.uc_stack.ss_size = 1 << 16;
  other_context.uc_link = &main_context;
  makecontext(&other_context, other, 0);
  swapcontext(&main_context, &other_context);
  free(stack);
}

int main(void) {
  in_turn(step, step);
  return 0;
}
