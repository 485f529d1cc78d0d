// SPDX-License-Identifier: Apache-2.0
// Nobody else knows the block when it is filled. The race is with the filling.
// record: no (the relaxed store is the order of the program, not of the detector)
#include <stdatomic.h>

#include "turns.h"

struct Message {
  long number;
  long more;
};
struct Message* _Atomic published;

static void first(void) {
  struct Message* message = malloc(sizeof *message);
  message->number = 1;  // race
  atomic_store_explicit(&published, message, memory_order_relaxed);
}

static void second(void) {
  use(atomic_load_explicit(&published, memory_order_relaxed)->number);  // race
}

int main(void) {
  in_turn(first, second);
  free(published);
  return 0;
}
