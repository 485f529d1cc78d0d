// SPDX-License-Identifier: Apache-2.0
// The counts of shared_ptr are atomic, the pointer itself is not.
#include <memory>

#include "turns.h"

std::shared_ptr<int> shared;

static void first() { shared = nullptr; }               // race
static void second() { use(shared.get() != nullptr); }  // race

int main() {
  shared = std::make_shared<int>(1);
  in_turn(first, second);
}
