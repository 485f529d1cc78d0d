// SPDX-License-Identifier: Apache-2.0
// The owner of a stack frame against a thread that knows its address.
// compilers: g++ (clang 19 takes the owner's accesses to be private)
#include "turns.h"

struct Pair {
  int left;
  int right;
};
struct Pair* shared;

static void* writer(void* argument) {
  order_await(1);
  shared->left = 2;  // race
  order_reach(2);
  return argument;
}

int main(void) {
  struct Pair local = {0, 0};
  pthread_t thread;
  shared = &local;
  pthread_create(&thread, NULL, writer, NULL);
  local.left = 1;  // race
  order_reach(1);
  order_await(2);
  pthread_join(thread, NULL);
  return local.left == 2 ? 0 : 1;
}
