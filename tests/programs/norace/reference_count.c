// SPDX-License-Identifier: Apache-2.0
// Decrements release; the last owner acquires with a fence before it frees.
// tsan: false alarm (fences are ignored)
#include "turns.h"

struct Object {
  int count;
  int values[3];
};
struct Object* object;

static void drop(int index) {
  object->values[index] = 1;
  if (__atomic_sub_fetch(&object->count, 1, __ATOMIC_RELEASE) == 0) {
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    free(object);
  }
}

static void first(void) { drop(0); }
static void second(void) { drop(1); }
static void third(void) { drop(2); }

int main(void) {
  object = calloc(1, sizeof *object);
  object->count = 3;
  in_turn_3(first, second, third);
  return 0;
}
