// SPDX-License-Identifier: Apache-2.0
// The first exception of a process orders nothing.
// levels: -O0 -O1 -O2 -O3
#include "turns.h"

int before_throw;
int thrown_by_first;

static void first() {
  before_throw = 1;  // race
  try {
    if (opaque(1) != 0) throw 1;
  } catch (int number) {
    thrown_by_first = number;
  }
}

static void second() {
  try {
    if (opaque(1) != 0) throw 2;
  } catch (int number) {
    before_throw = number;  // race
  }
}

int main() {
  in_turn(first, second);
  return 0;
}
