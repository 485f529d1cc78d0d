// SPDX-License-Identifier: Apache-2.0
// Four threads, four halves of halves of one word.
#include "turns.h"

short numbers[4] __attribute__((aligned(8)));

static void body(int index) {
  for (int i = 0; i < 1000; i++) numbers[index]++;
}

int main(void) {
  at_once(4, body);
  return numbers[3] == 1000 ? 0 : 1;
}
