// SPDX-License-Identifier: Apache-2.0
// A sequence lock whose data are not atomic: the reader may see half of a write,
// and only notices afterwards.
#include "turns.h"

unsigned sequence;
int data;

static void reader(void) {
  use(__atomic_load_n(&sequence, __ATOMIC_ACQUIRE));
  use(data);  // race
  use(__atomic_load_n(&sequence, __ATOMIC_ACQUIRE));
}

static void writer(void) {
  __atomic_fetch_add(&sequence, 1, __ATOMIC_ACQ_REL);
  data = 1;  // race
  __atomic_fetch_add(&sequence, 1, __ATOMIC_ACQ_REL);
}

int main(void) {
  in_turn(reader, writer);
  return 0;
}
