// SPDX-License-Identifier: Apache-2.0
// volatile variables of one thread.
#include "turns.h"

volatile int numbers[8];

static void body(int index) {
  for (int i = 0; i < 100; i++) numbers[index] = numbers[index] + 1;
}

int main(void) {
  at_once(8, body);
  return 0;
}
