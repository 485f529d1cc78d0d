// SPDX-License-Identifier: Apache-2.0
// Any number of readers.
#include "turns.h"

int shared = 42;

static void body(int index) {
  for (int i = 0; i < 100; i++) use(shared + index);
}

int main(void) {
  shared = 43;
  at_once(32, body);
  return 0;
}
