/* SPDX-License-Identifier: Apache-2.0
 *
 * A function races for long on an array and a counter, and then once on another variable: that is
 * not lost behind the others.
 */
// findings: 3
#include "turns.h"

long table[1000];
long counter;
long rare;

__attribute__((noinline)) void set(long* where, long value) {
  *where = value;  // race
}

static void fill(long value) {
  int i;
  for (i = 0; i < 1000; i++) set(&table[i], value);
  for (i = 0; i < 1000; i++) set(&counter, value);
}

static void early(void) {
  fill(1);
  set(&rare, 1);
}

static void late(void) {
  fill(2);
  set(&counter, 3);
  set(&rare, 2);
}

int main(void) {
  in_turn(early, late);
  return 0;
}
