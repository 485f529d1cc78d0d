// SPDX-License-Identifier: Apache-2.0
// The announced order is that of another object.
#include "turns.h"

#include <sanitizer/tsan_interface.h>

int data;
int tags[2];

static void first(void) {
  data = 1;  // race
  __tsan_release(&tags[0]);
}

static void second(void) {
  __tsan_acquire(&tags[1]);
  data++;  // race
}

int main(void) {
  in_turn(first, second);
  return 0;
}
