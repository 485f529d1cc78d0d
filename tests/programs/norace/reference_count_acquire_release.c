// SPDX-License-Identifier: Apache-2.0
// Decrements that release and acquire.
#include "turns.h"

struct Object {
  int count;
  int values[4];
};
struct Object* object;

static void body(int index) {
  struct Object* mine = object;
  mine->values[index] = 1;
  if (__atomic_sub_fetch(&mine->count, 1, __ATOMIC_ACQ_REL) == 0) free(mine);
}

int main(void) {
  for (int round = 0; round < 50; round++) {
    object = calloc(1, sizeof *object);
    object->count = 4;
    at_once(4, body);
  }
  return 0;
}
