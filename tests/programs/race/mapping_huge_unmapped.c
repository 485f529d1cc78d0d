// SPDX-License-Identifier: Apache-2.0
// One thread writes deep inside a huge mapping, another unmaps it without order.
#include "turns.h"

#include <sys/mman.h>

char* block;
size_t size;

static void write_inside(void) {
  block[size / 2 + 12345] = 1;  // race
}

static void unmap(void) {
  munmap(block, size);  // race
}

int main(void) {
  for (size = (size_t)1 << 38; size >= (size_t)1 << 28; size >>= 2) {
    block = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (block != MAP_FAILED) break;
  }
  in_turn(write_inside, unmap);
  return 0;
}
