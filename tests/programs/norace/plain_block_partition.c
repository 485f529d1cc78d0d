// SPDX-License-Identifier: Apache-2.0
// Threads share an array in blocks, then in strides, with a join between.
#include "turns.h"

#define COUNT 40000
int numbers[COUNT];

static void blocks(int index) {
  for (int i = index * (COUNT / 4); i < (index + 1) * (COUNT / 4); i++) numbers[i] = i;
}

static void strides(int index) {
  for (int i = index; i < COUNT; i += 4) numbers[i]++;
}

int main(void) {
  at_once(4, blocks);
  at_once(4, strides);
  return numbers[7] == 8 ? 0 : 1;
}
