// SPDX-License-Identifier: Apache-2.0
// Many readers, all joined, then a write, over and over.
#include "turns.h"

int shared;

static void body(int index) { use(shared + index); }

int main(void) {
  for (int round = 0; round < 20; round++) {
    shared = round;
    at_once(17, body);
    shared++;
  }
  return 0;
}
