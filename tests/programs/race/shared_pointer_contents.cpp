// SPDX-License-Identifier: Apache-2.0
// The counts order the destruction, not what the owners do before.
#include <memory>

#include "turns.h"

std::shared_ptr<int> one;
std::shared_ptr<int> other;

static void first() {
  *one = 1;  // race
}

static void second() {
  *other = 2;  // race
}

int main() {
  one = std::make_shared<int>(0);
  other = one;
  in_turn(first, second);
}
