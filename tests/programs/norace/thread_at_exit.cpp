// SPDX-License-Identifier: Apache-2.0
// Handlers at exit and the destructors of globals come after main.
#include "turns.h"

int shared;

struct Global {
  int* value = new int(1);
  ~Global() {
    ++*value;
    shared++;
    delete value;
  }
};
Global global;

static void at_exit() {
  shared++;
  ++*global.value;
}

static void body(int) { __atomic_fetch_add(&shared, 1, __ATOMIC_RELAXED); }

int main() {
  atexit(at_exit);
  at_once(4, body);
  shared++;
}
