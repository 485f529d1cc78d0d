// SPDX-License-Identifier: Apache-2.0
// A lock made of atomic_flag.
#include "turns.h"

#include <sched.h>
#include <stdatomic.h>

atomic_flag lock = ATOMIC_FLAG_INIT;
int counter;

static void body(int index) {
  for (int i = 0; i < 300; i++) {
    while (atomic_flag_test_and_set_explicit(&lock, memory_order_acquire)) sched_yield();
    counter++;
    atomic_flag_clear_explicit(&lock, memory_order_release);
  }
  use(index);
}

int main(void) {
  at_once(4, body);
  return counter == 1200 ? 0 : 1;
}
