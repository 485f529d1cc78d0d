// SPDX-License-Identifier: Apache-2.0
// Scattered buffers: the second of them collides.
#include "turns.h"

#include <sys/uio.h>
#include <unistd.h>

char left[8];
char right[8];
int ends[2];

static void first(void) { use(right[3]); }  // race

static void second(void) {
  struct iovec parts[2] = {{left, 8}, {right, 8}};
  use(readv(ends[0], parts, 2));  // race
}

int main(void) {
  if (pipe(ends) != 0 || write(ends[1], "0123456789abcdef", 16) != 16) return 1;
  in_turn(first, second);
  return 0;
}
