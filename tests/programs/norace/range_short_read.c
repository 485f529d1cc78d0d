// SPDX-License-Identifier: Apache-2.0
// read touches only as much of the buffer as it got.
#include "turns.h"

#include <unistd.h>

char buffer[64];
int ends[2];

static void first(void) { buffer[5] = 1; }
static void second(void) { use(read(ends[0], buffer, sizeof buffer)); }

int main(void) {
  if (pipe(ends) != 0 || write(ends[1], "12345", 5) != 5) return 1;
  in_turn(first, second);
  return 0;
}
