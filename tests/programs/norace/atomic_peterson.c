// SPDX-License-Identifier: Apache-2.0
// Peterson's lock needs sequential consistency, and nothing else.
#include "turns.h"

#include <sched.h>

int wants[2];
int turn;
int counter;

static void body(int me) {
  for (int i = 0; i < 300; i++) {
    __atomic_store_n(&wants[me], 1, __ATOMIC_SEQ_CST);
    __atomic_store_n(&turn, 1 - me, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&wants[1 - me], __ATOMIC_SEQ_CST) && __atomic_load_n(&turn, __ATOMIC_SEQ_CST) != me) {
      sched_yield();
    }
    counter++;
    __atomic_store_n(&wants[me], 0, __ATOMIC_SEQ_CST);
  }
}

int main(void) {
  at_once(2, body);
  return counter == 600 ? 0 : 1;
}
