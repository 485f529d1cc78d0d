// SPDX-License-Identifier: Apache-2.0
// The last owner frees, but the decrement did not release what others wrote.
// tsan: g++ reports one race per word
#include "turns.h"

struct Object {
  int count;
  int value;
};
struct Object* object;

static void drop(void) {
  if (__atomic_sub_fetch(&object->count, 1, __ATOMIC_RELAXED) == 0) {  // race: count?
    free(object);                                                      // race: value count?
  }
}

static void first(void) {
  object->value = 1;  // race: value
  drop();
}

static void second(void) { drop(); }

int main(void) {
  object = calloc(1, sizeof *object);
  object->count = 2;
  in_turn(first, second);
  return 0;
}
