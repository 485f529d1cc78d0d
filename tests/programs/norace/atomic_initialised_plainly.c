// SPDX-License-Identifier: Apache-2.0
// An ordinary store before the threads exist, an ordinary load after they ended.
#include "turns.h"

int shared;

static void body(int index) { __atomic_fetch_add(&shared, index, __ATOMIC_RELAXED); }

int main(void) {
  shared = 100;
  at_once(4, body);
  return shared == 106 ? 0 : 1;
}
