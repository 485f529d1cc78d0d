// SPDX-License-Identifier: Apache-2.0
// A program that ends in abort.
// exit: any
#include "turns.h"

int shared;

static void first(void) { shared = 1; }  // race

static void second(void) {
  shared = 2;  // race
  abort();
}

int main(void) {
  in_turn(first, second);
  return 0;
}
