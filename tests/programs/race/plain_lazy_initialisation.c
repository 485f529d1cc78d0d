// SPDX-License-Identifier: Apache-2.0
// Created at first use, by whoever comes first.
#include "turns.h"

int* instance;

static void first(void) {
  if (instance == NULL) {                 // race: A?
    instance = malloc(sizeof *instance);  // race: A
  }
}

static void second(void) {
  use(instance == NULL);  // race: A
}

int main(void) {
  in_turn(first, second);
  free(instance);
  return 0;
}
