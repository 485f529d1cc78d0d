// SPDX-License-Identifier: Apache-2.0
// A mapping at the address of an old one is new memory.
#include "turns.h"

#include <sys/mman.h>

static void step(void) {
  char* block = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (int i = 0; i < 1 << 16; i += 512) block[i] = 1;
  munmap(block, 1 << 16);
}

int main(void) {
  in_turn_3(step, step, step);
  return 0;
}
