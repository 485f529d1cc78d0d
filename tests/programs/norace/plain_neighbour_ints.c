// SPDX-License-Identifier: Apache-2.0
// The two halves of a word, read and written in turn.
#include "turns.h"

int numbers[2] __attribute__((aligned(8)));

static void body(int index) {
  for (int i = 0; i < 1000; i++) numbers[index] += numbers[index] + 1 > 0;
}

int main(void) {
  at_once(2, body);
  return numbers[0] == 1000 && numbers[1] == 1000 ? 0 : 1;
}
