// SPDX-License-Identifier: Apache-2.0
// Whoever passes pthread_once sees what it did.
#include "turns.h"

pthread_once_t once = PTHREAD_ONCE_INIT;
int* table;

static void initialise(void) {
  table = malloc(100 * sizeof *table);
  for (int i = 0; i < 100; i++) table[i] = i;
}

static void body(int index) {
  pthread_once(&once, initialise);
  use(table[index]);
}

int main(void) {
  at_once(8, body);
  free(table);
  return 0;
}
