// SPDX-License-Identifier: Apache-2.0
// memcpy of an array, element by element writes of another thread to its source.
#include "turns.h"

#include <string.h>

enum { kElements = 60000 };

int* from;
int* to;

static void write_all(void) {
  int index;
  for (index = kElements / 3; index < kElements / 2; index++) {
    from[index] = index;  // race
  }
}

static void copy_all(void) {
  memcpy(to, from, kElements * sizeof(int));  // race
}

int main(void) {
  from = (int*)calloc(kElements, sizeof(int));
  to = (int*)calloc(kElements, sizeof(int));
  in_turn(write_all, copy_all);
  free(from);
  free(to);
  return 0;
}
