// SPDX-License-Identifier: Apache-2.0
// Exceptions through many frames, with destructors that unlock.
#include <mutex>
#include <stdexcept>

#include "turns.h"

std::mutex mutex;
int counter;

__attribute__((noinline)) static void dive(int depth) {
  if (depth == 0) throw std::runtime_error("deep");
  struct Guard {
    int depth;
    ~Guard() { use(depth); }
  } guard{depth};
  dive(depth - 1);
}

static void body(int) {
  for (int i = 0; i < 100; i++) {
    try {
      std::lock_guard lock(mutex);
      counter++;
      dive(50);
    } catch (const std::runtime_error& error) {
      use(error.what()[0]);
    }
  }
}

int main() {
  at_once(4, body);
  return counter == 400 ? 0 : 1;
}
