// SPDX-License-Identifier: Apache-2.0
// A mapping that grows, perhaps to another place.
// tsan: false alarms (mremap is not intercepted)
#include "turns.h"

#include <sys/mman.h>

static void body(int index) {
  size_t size = 4096;
  char* block = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (; size < 1 << 18; size *= 2) {
    block[size - 1] = (char)index;
    block = mremap(block, size, size * 2, MREMAP_MAYMOVE);
    if (block[size - 1] != (char)index) abort();
  }
  munmap(block, size);
}

int main(void) {
  at_once(6, body);
  return 0;
}
