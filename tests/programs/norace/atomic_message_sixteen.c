// SPDX-License-Identifier: Apache-2.0
// Release and acquire of sixteen bytes.
// flags: -mcx16
#include "turns.h"

int data;
__int128 flag;

static void first(void) {
  data = 1;
  __atomic_store_n(&flag, (__int128)1 << 100, __ATOMIC_RELEASE);
}

static void second(void) {
  __int128 seen = __atomic_load_n(&flag, __ATOMIC_ACQUIRE);
  if (seen >> 100 != 1) abort();
  data++;
  __int128 expected = seen;
  if (!__atomic_compare_exchange_n(&flag, &expected, seen + 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) abort();
}

static void third(void) {
  if (__atomic_exchange_n(&flag, 5, __ATOMIC_ACQ_REL) != ((__int128)1 << 100) + 1) abort();
  data++;
}

int main(void) {
  in_turn_3(first, second, third);
  return data == 3 ? 0 : 1;
}
