// SPDX-License-Identifier: Apache-2.0
// Relaxed operations do not race with each other.
#include "turns.h"

long counter;

static void body(int index) {
  for (int i = 0; i < 1000; i++) {
    __atomic_fetch_add(&counter, 1, __ATOMIC_RELAXED);
    use(__atomic_load_n(&counter, __ATOMIC_RELAXED));
  }
  use(index);
}

int main(void) {
  at_once(8, body);
  return counter == 8000 ? 0 : 1;
}
