// SPDX-License-Identifier: Apache-2.0
// Every way to get a block ends in the same free.
#include "turns.h"

#include <malloc.h>
#include <string.h>

char* blocks[5];

static void first(void) {
  blocks[0][0] = 1;   // race: calloc
  blocks[1][9] = 1;   // race: aligned
  blocks[2][50] = 1;  // race: posix
  blocks[3][7] = 1;   // race: memalign
  blocks[4][2] = 1;   // race: strdup
}

static void second(void) {
  free(blocks[0]);  // race: calloc
  free(blocks[1]);  // race: aligned
  free(blocks[2]);  // race: posix
  free(blocks[3]);  // race: memalign
  free(blocks[4]);  // race: strdup
}

int main(void) {
  blocks[0] = calloc(4, 16);
  blocks[1] = aligned_alloc(64, 128);
  if (posix_memalign((void**)&blocks[2], 256, 100) != 0) return 1;
  blocks[3] = memalign(32, 64);
  blocks[4] = strdup("a text");
  in_turn(first, second);
  return 0;
}
