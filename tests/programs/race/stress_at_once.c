// SPDX-License-Identifier: Apache-2.0
// Twenty thousand words, each written once by each of two threads at the same
// moment. At least one of the two must see the other; both may.
// occurrences: 20000+
#include "turns.h"

enum { kPlaces = 20000 };

long* words[kPlaces];
int arrived;

static void meet(int round) {
  order_add(&arrived, 1);
  for (int turns = 0; order_load(&arrived) < 2 * (round + 1); turns++) {
    long result = 24; /* sched_yield */
    if (turns % 256 == 255) __asm__ volatile("syscall" : "+a"(result) : : "rcx", "r11", "memory", "cc");
  }
}

static void body(int index) {
  for (int i = 0; i < kPlaces; i++) {
    meet(i);
    *words[i] = index;  // race
  }
}

int main(void) {
  for (int i = 0; i < kPlaces; i++) words[i] = malloc(40);
  at_once(2, body);
  return 0;
}
