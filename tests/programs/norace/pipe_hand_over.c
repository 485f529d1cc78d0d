// SPDX-License-Identifier: Apache-2.0
// Data handed over by a byte in a pipe, when descriptors are said to order.
// options: io_sync=1
#include "turns.h"

#include <unistd.h>

int ends[2];
int data;

static void first(void) {
  data = 42;
  if (write(ends[1], "x", 1) != 1) abort();
}

static void second(void) {
  char byte;
  if (read(ends[0], &byte, 1) != 1) abort();
  data++;
}

int main(void) {
  if (pipe(ends) != 0) return 1;
  in_turn(first, second);
  return data == 43 ? 0 : 1;
}
