// SPDX-License-Identifier: Apache-2.0
// Standard error is closed.
// tsan: has nowhere to write
#include "turns.h"

#include <unistd.h>

int shared;

static void first(void) { shared = 1; }   // race
static void second(void) { shared = 2; }  // race

int main(void) {
  close(1);
  close(2);
  in_turn(first, second);
  return 0;
}
