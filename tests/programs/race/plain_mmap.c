// SPDX-License-Identifier: Apache-2.0
// Memory straight from the system.
#include "turns.h"

#include <sys/mman.h>

int* shared;

static void first(void) { shared[5000] = 1; }    // race
static void second(void) { use(shared[5000]); }  // race

int main(void) {
  shared = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  in_turn(first, second);
  munmap(shared, 1 << 16);
  return 0;
}
