// SPDX-License-Identifier: Apache-2.0
// Atomic variables of sizes that no instruction changes at once, each handing over a plain one.
// libraries: -latomic
// tsan: false alarm (libatomic is not intercepted)
#include <atomic>
#include <cstdlib>

#include "turns.h"

struct Three {
  char bytes[3];
};
struct Forty {
  long words[5];
};

std::atomic<Three> three;
std::atomic<Forty> forty;
std::atomic<Forty> exchanged;
int by_three;
int by_forty;
int by_exchange;

namespace {

void give() {
  by_three = 1;
  three.store({{1, 2, 3}}, std::memory_order_release);
  by_forty = 2;
  forty.store({{1}});
  by_exchange = 3;
  Forty expected = {};
  if (!exchanged.compare_exchange_strong(expected, Forty{{7}})) std::abort();
}

void take() {
  if (three.load(std::memory_order_acquire).bytes[2] != 3 || by_three != 1) std::abort();
  if (forty.load().words[0] != 1 || by_forty != 2) std::abort();
  if (exchanged.exchange(Forty{}).words[0] != 7 || by_exchange != 3) std::abort();
}

}  // namespace

int main() {
  in_turn(give, take);
  return 0;
}
