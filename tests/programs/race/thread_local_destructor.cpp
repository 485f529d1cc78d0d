// SPDX-License-Identifier: Apache-2.0
// The destructor of a thread_local object.
#include "turns.h"

int shared;

struct Object {
  int value = 0;
  ~Object() {
    shared = 1;  // race
    order_reach(1);
  }
};

thread_local Object own;

static void* owner(void* argument) {
  own.value = 1;
  return argument;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, owner, nullptr);
  order_await(1);
  shared = 2;  // race
  pthread_join(thread, nullptr);
}
