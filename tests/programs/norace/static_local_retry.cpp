// SPDX-License-Identifier: Apache-2.0
// The constructor of a static local throws; the next thread that comes tries
// again, and is ordered after the failed attempt by the guard.
// tsan: g++ false alarm (a failed attempt releases nothing)
#include "turns.h"

int attempts;

struct Stubborn {
  int value = 7;
  Stubborn() {
    if (++attempts < 3) throw 1;
  }
};

static void attempt() {
  try {
    static Stubborn instance;
    use(instance.value);
  } catch (int) {
  }
}

int main() {
  in_turn_3(attempt, attempt, attempt);
  return attempts == 3 ? 0 : 1;
}
