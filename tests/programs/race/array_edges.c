// SPDX-License-Identifier: Apache-2.0
// Accesses across the border between what has compressed shadow and what has not:
// pages in the middle of a block, the bytes before the first and after the last.
#include <stdint.h>

#include "turns.h"

enum { kBytes = 1 << 18, kPage = 4096 };

char* block;

static uint64_t* across(uintptr_t page) { return (uint64_t*)(page - 4); }
static uintptr_t first_page(void) { return ((uintptr_t)block + kPage - 1) & ~(uintptr_t)(kPage - 1); }
static uintptr_t last_page(void) { return ((uintptr_t)block + kBytes) & ~(uintptr_t)(kPage - 1); }

static void write_all(void) {
  int index;
  for (index = 0; index < kBytes; index++) {
    block[index] = 1;  // race
  }
}

static void write_edges(void) {
  struct __attribute__((packed)) Loose {
    uint64_t value;
  };
  ((struct Loose*)across(first_page()))->value = 2;  // race
  ((struct Loose*)across(last_page()))->value = 2;   // race
}

int main(void) {
  block = (char*)malloc(kBytes);
  in_turn(write_all, write_edges);
  free(block);
  return 0;
}
