// SPDX-License-Identifier: Apache-2.0
// Two contexts that hand a value to and fro, in each of several threads.
#include "turns.h"

#include <ucontext.h>

struct Pair {
  ucontext_t main;
  ucontext_t other;
  int value;
};
static __thread struct Pair* own;

static void other(void) {
  for (int i = 0; i < 100; i++) {
    own->value++;
    swapcontext(&own->other, &own->main);
  }
}

static void body(int index) {
  struct Pair* pair = calloc(1, sizeof *pair);
  char* stack = malloc(1 << 16);
  own = pair;
  getcontext(&pair->other);
  pair->other.uc_stack.ss_sp = stack;
  pair->other.uc_stack.ss_size = 1 << 16;
  pair->other.uc_link = &pair->main;
  makecontext(&pair->other, other, 0);
  for (int i = 0; i < 100; i++) {
    swapcontext(&pair->main, &pair->other);
    pair->value++;
  }
  if (pair->value != 200) abort();
  free(stack);
  free(pair);
  use(index);
}

int main(void) {
  at_once(4, body);
  return 0;
}
