// SPDX-License-Identifier: Apache-2.0
// Fibers over contexts; a switch synchronises.
#include "turns.h"

#include <sanitizer/tsan_interface.h>
#include <ucontext.h>

static ucontext_t main_context;
static ucontext_t other_context;
static void* main_fiber;
static void* other_fiber;
int value;

static void other(void) {
  for (;;) {
    value++;
    __tsan_switch_to_fiber(main_fiber, 0);
    swapcontext(&other_context, &main_context);
  }
}

int main(void) {
  char* stack = malloc(1 << 16);
  main_fiber = __tsan_get_current_fiber();
  other_fiber = __tsan_create_fiber(0);
  getcontext(&other_context);
  other_context.uc_stack.ss_sp = stack;
  other_context.uc_stack.ss_size = 1 << 16;
  makecontext(&other_context, other, 0);
  for (int i = 0; i < 100; i++) {
    value++;
    __tsan_switch_to_fiber(other_fiber, 0);
    swapcontext(&main_context, &other_context);
  }
  __tsan_destroy_fiber(other_fiber);
  free(stack);
  return value == 200 ? 0 : 1;
}
