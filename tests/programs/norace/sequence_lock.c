// SPDX-License-Identifier: Apache-2.0
// A sequence lock with atomic data and fences.
#include "turns.h"

unsigned sequence;
int left;
int right;

static void write_both(int value) {
  unsigned now = __atomic_load_n(&sequence, __ATOMIC_RELAXED);
  __atomic_store_n(&sequence, now + 1, __ATOMIC_RELAXED);
  __atomic_thread_fence(__ATOMIC_RELEASE);
  __atomic_store_n(&left, value, __ATOMIC_RELAXED);
  __atomic_store_n(&right, value, __ATOMIC_RELAXED);
  __atomic_store_n(&sequence, now + 2, __ATOMIC_RELEASE);
}

static void read_both(void) {
  for (;;) {
    unsigned before = __atomic_load_n(&sequence, __ATOMIC_ACQUIRE);
    int seen_left = __atomic_load_n(&left, __ATOMIC_RELAXED);
    int seen_right = __atomic_load_n(&right, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (before % 2 == 0 && __atomic_load_n(&sequence, __ATOMIC_RELAXED) == before) {
      if (seen_left != seen_right) abort();
      return;
    }
  }
}

static void body(int index) {
  for (int i = 0; i < 500; i++) {
    if (index == 0) {
      write_both(i);
    } else {
      read_both();
    }
  }
}

int main(void) {
  at_once(3, body);
  return 0;
}
