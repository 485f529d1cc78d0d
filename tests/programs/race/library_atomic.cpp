// SPDX-License-Identifier: Apache-2.0
// A large atomic variable is changed under a lock of libatomic's, which is no order if the program asked for none.
// libraries: -latomic
// tsan: misses it (the lock inside libatomic is an order)
#include <atomic>

#include "turns.h"

struct Forty {
  long words[5];
};

std::atomic<Forty> variable;
int handed_over;

namespace {

void give() {
  handed_over = 1;  // race
  variable.store({{1}}, std::memory_order_relaxed);
}

void take() {
  use(variable.load(std::memory_order_relaxed).words[0]);
  use(handed_over);  // race
}

}  // namespace

int main() {
  in_turn(give, take);
  return 0;
}
