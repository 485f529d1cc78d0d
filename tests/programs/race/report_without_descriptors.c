// SPDX-License-Identifier: Apache-2.0
// A daemon closes every descriptor that it has, also those that are not its own.
// tsan: has nowhere to write
#include "turns.h"

#include <unistd.h>

int shared;

static void first(void) { shared = 1; }   // race
static void second(void) { shared = 2; }  // race

int main(void) {
  for (int descriptor = 0; descriptor < 1024; descriptor++) close(descriptor);
  in_turn(first, second);
  return 0;
}
