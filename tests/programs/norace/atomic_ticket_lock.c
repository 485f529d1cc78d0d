// SPDX-License-Identifier: Apache-2.0
// First come, first served.
#include "turns.h"

#include <sched.h>

unsigned next_ticket;
unsigned now_serving;
int counter;

static void body(int index) {
  for (int i = 0; i < 100; i++) {
    unsigned mine = __atomic_fetch_add(&next_ticket, 1, __ATOMIC_RELAXED);
    while (__atomic_load_n(&now_serving, __ATOMIC_ACQUIRE) != mine) sched_yield();
    counter++;
    __atomic_store_n(&now_serving, mine + 1, __ATOMIC_RELEASE);
  }
  use(index);
}

int main(void) {
  at_once(3, body);
  return counter == 300 ? 0 : 1;
}
