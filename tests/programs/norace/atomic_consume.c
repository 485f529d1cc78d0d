// SPDX-License-Identifier: Apache-2.0
// The compilers treat consume as acquire.
#include "turns.h"

int* published;

static void first(void) {
  int* block = malloc(sizeof *block);
  *block = 42;
  __atomic_store_n(&published, block, __ATOMIC_RELEASE);
}

static void second(void) {
  int* block = __atomic_load_n(&published, __ATOMIC_CONSUME);
  use(*block);
  free(block);
}

int main(void) {
  in_turn(first, second);
  return 0;
}
