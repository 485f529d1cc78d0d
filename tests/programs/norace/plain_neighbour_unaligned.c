// SPDX-License-Identifier: Apache-2.0
// Unaligned numbers that touch each other and share a word, but no byte.
#include "turns.h"

struct __attribute__((packed)) Packed {
  char before[3];
  int first;
  long second;
  char after;
};

struct Packed packed __attribute__((aligned(8)));

static void first(void) { packed.first = 1; }
static void second(void) { packed.second = 2; }
static void third(void) {
  packed.before[2] = 3;
  packed.after = 3;
}

int main(void) {
  in_turn_3(first, second, third);
  return 0;
}
