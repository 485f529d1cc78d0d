// SPDX-License-Identifier: Apache-2.0
// As deep_calls, with 20 calls: more than are learned of unless --depth says so.
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
  level = 1;  // race very_deep_calls
  late_if_reversed();
  descend<20>();
}

void leave() {
  usually_late();
  descend<20>();
  level = 0;  // race very_deep_calls
}

int main() { run_together(enter, leave); }
