// SPDX-License-Identifier: Apache-2.0
// Eight threads, eight bytes of one word.
#include "turns.h"

char bytes[8] __attribute__((aligned(8)));

static void body(int index) {
  for (int i = 0; i < 1000; i++) bytes[index]++;
}

int main(void) {
  at_once(8, body);
  return bytes[0] == bytes[7] ? 0 : 1;
}
