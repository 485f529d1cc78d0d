// SPDX-License-Identifier: Apache-2.0
// std::call_once, whose first callers throw.
// tsan: never ends (an exception leaves pthread_once)
#include <mutex>

#include "turns.h"

std::once_flag flag;
int attempts;
int value;

static void initialise() {
  if (++attempts < 3) throw 1;
  value = 42;
}

static void body(int) {
  for (bool done = false; !done;) {
    try {
      std::call_once(flag, initialise);
      done = true;
    } catch (int) {
    }
  }
  if (value != 42) abort();
}

int main() {
  in_turn_3([] { body(0); }, [] { body(1); }, [] { body(2); });
}
