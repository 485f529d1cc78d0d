// SPDX-License-Identifier: Apache-2.0
// The operations of stdatomic.h with their default order.
#include "turns.h"

#include <sched.h>
#include <stdatomic.h>

atomic_int stage;
atomic_bool busy;
_Atomic long sum;
int data;

static void body(int index) {
  for (int i = 0; i < 100; i++) {
    _Bool no = 0;
    while (!atomic_compare_exchange_weak(&busy, &no, 1)) {
      no = 0;
      sched_yield();
    }
    data++;
    atomic_store(&busy, 0);
    sum += index;
  }
  stage++;
}

int main(void) {
  at_once(3, body);
  return data == 300 && stage == 3 && sum == 300 ? 0 : 1;
}
