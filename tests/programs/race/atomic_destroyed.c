// SPDX-License-Identifier: Apache-2.0
// The lock word itself is freed while another thread may use it.
#include "turns.h"

int* word;

static void first(void) { use(__atomic_fetch_add(word, 1, __ATOMIC_RELAXED)); }  // race
static void second(void) { free(word); }                                         // race

int main(void) {
  word = calloc(1, sizeof *word);
  in_turn(first, second);
  return 0;
}
