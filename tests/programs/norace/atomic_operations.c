// SPDX-License-Identifier: Apache-2.0
// Every read-modify-write hands the data on.
#include "turns.h"

int data;
int word;

static void chain(void) {
  int expected;
#define STEP(operation) \
  operation;            \
  data++;
  STEP(use(__atomic_exchange_n(&word, 1, __ATOMIC_ACQ_REL)))
  STEP(use(__atomic_fetch_add(&word, 1, __ATOMIC_ACQ_REL)))
  STEP(use(__atomic_fetch_sub(&word, 1, __ATOMIC_ACQ_REL)))
  STEP(use(__atomic_fetch_and(&word, 3, __ATOMIC_ACQ_REL)))
  STEP(use(__atomic_fetch_or(&word, 3, __ATOMIC_SEQ_CST)))
  STEP(use(__atomic_fetch_xor(&word, 1, __ATOMIC_SEQ_CST)))
  STEP(use(__atomic_fetch_nand(&word, 1, __ATOMIC_SEQ_CST)))
  __atomic_store_n(&word, 7, __ATOMIC_SEQ_CST);
  expected = 7;
  STEP(use(__atomic_compare_exchange_n(&word, &expected, 8, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)))
  use(__atomic_fetch_add(&word, 1, __ATOMIC_RELEASE));
}

int main(void) {
  in_turn_3(chain, chain, chain);
  return data == 24 ? 0 : 1;
}
