// SPDX-License-Identifier: Apache-2.0
// _exit runs no handlers; the report is there all the same.
#include "turns.h"

#include <unistd.h>

int shared;

static void first(void) { shared = 1; }  // race

static void second(void) {
  shared = 2;  // race
  _exit(0);
}

int main(void) {
  in_turn(first, second);
  return 0;
}
