// SPDX-License-Identifier: Apache-2.0
// Destructors of thread_local objects end before the join does.
#include "turns.h"

int shared;

struct Object {
  int* value = new int(1);
  ~Object() {
    shared += *value;
    delete value;
  }
};

thread_local Object own;

static void* owner(void* argument) {
  ++*own.value;
  return argument;
}

int main() {
  for (int i = 0; i < 10; i++) {
    pthread_t thread;
    pthread_create(&thread, nullptr, owner, nullptr);
    pthread_join(thread, nullptr);
  }
  return shared == 20 ? 0 : 1;
}
