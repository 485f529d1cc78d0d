// SPDX-License-Identifier: Apache-2.0
// A mapping is taken away while another thread may use it.
// tsan: misses it (munmap is not checked)
#include "turns.h"

#include <sys/mman.h>

char* block;

static void first(void) { block[5000] = 1; }          // race
static void second(void) { munmap(block, 1 << 14); }  // race

int main(void) {
  block = mmap(NULL, 1 << 14, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  in_turn(first, second);
  return 0;
}
