// SPDX-License-Identifier: Apache-2.0
// A container without a lock. What races lies in the library's headers; the
// report leads to the calling lines.
#include <vector>

#include "turns.h"

std::vector<int> numbers;

static void first() { numbers.push_back(1); }   // race
static void second() { numbers.push_back(2); }  // race

int main() { in_turn(first, second); }
