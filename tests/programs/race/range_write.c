// SPDX-License-Identifier: Apache-2.0
// write reads the buffer.
#include "turns.h"

#include <unistd.h>

char buffer[64];
int ends[2];

static void first(void) { buffer[63] = 1; }                               // race
static void second(void) { use(write(ends[1], buffer, sizeof buffer)); }  // race

int main(void) {
  if (pipe(ends) != 0) return 1;
  in_turn(first, second);
  return 0;
}
