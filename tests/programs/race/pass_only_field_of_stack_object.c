// SPDX-License-Identifier: Apache-2.0
// A field of a struct on the stack whose address another thread has.
// tsan: clang misses it (asks whether the field's address escapes)
#include "turns.h"

struct Pair {
  long left;
  long right;
};
struct Pair* where;

static void* other(void* nothing) {
  where->right = 2;  // race
  order_reach(1);
  order_await(2);
  return nothing;
}

int main(void) {
  struct Pair pair = {0, 0};
  pthread_t thread;
  where = &pair;
  pthread_create(&thread, NULL, other, NULL);
  order_await(1);
  pair.right += 1;  // race
  use(pair.right);
  order_reach(2);
  pthread_join(thread, NULL);
  return 0;
}
