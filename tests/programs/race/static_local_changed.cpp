// SPDX-License-Identifier: Apache-2.0
// The guard of a static local protects its initialisation, not what comes after.
#include "turns.h"

static int& instance() {
  static int value = static_cast<int>(opaque(5));
  return value;
}

static void first() {
  instance()++;  // race
}

static void second() {
  instance() += 2;  // race
}

int main() { in_turn(first, second); }
