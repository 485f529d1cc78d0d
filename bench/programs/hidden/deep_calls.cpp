// SPDX-License-Identifier: Apache-2.0
// The lock is taken nine calls below the function in which the later thread is when the
// earlier one asks for it.
#include <mutex>

#include "hidden.h"

std::mutex mutex;
int counted;
int level;

// So many calls above the lock.
template <int kDepth>
[[gnu::noinline]] void descend() {
  if constexpr (kDepth == 0) {
    const std::lock_guard guard(mutex);
    ++counted;
  } else {
    descend<kDepth - 1>();
  }
}

void enter() {
  level = 1;  // race deep_calls
  late_if_reversed();
  descend<9>();
}

void leave() {
  usually_late();
  descend<9>();
  level = 0;  // race deep_calls
}

int main() { run_together(enter, leave); }
