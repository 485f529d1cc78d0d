// SPDX-License-Identifier: Apache-2.0
// Each thread has its own, at its own address.
#include "turns.h"

__thread int own;
static __thread char more[5000];

static void body(int index) {
  for (int i = 0; i < 100; i++) own += index;
  for (int i = 0; i < 5000; i++) more[i] = (char)index;
  use(more[opaque(17)]);
}

int main(void) {
  for (int round = 0; round < 4; round++) at_once(8, body);
  return 0;
}
