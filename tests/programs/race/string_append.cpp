// SPDX-License-Identifier: Apache-2.0
// A string without a lock.
#include <string>

#include "turns.h"

std::string* text;

static void first() { text->push_back('a'); }   // race
static void second() { text->push_back('b'); }  // race

int main() {
  text = new std::string(100, 'x');
  in_turn(first, second);
  delete text;
}
