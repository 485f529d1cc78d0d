// SPDX-License-Identifier: Apache-2.0
// The unwinder and the C++ library prepare something when they are first used, in
// whichever thread that is. A thread that uses them later is not ordered by that.
// tsan: misses it (the libraries' pthread_once is an order)
#include <sstream>

#include "turns.h"

int before_throw;
int before_stream;

namespace {

void throw_and_catch() {
  try {
    throw 1;
  } catch (int) {
  }
}

void print() {
  std::ostringstream text;
  text << 1;
}

void throw_first() {
  before_throw = 1;  // race: throw
  throw_and_catch();
}

void throw_second() {
  throw_and_catch();
  use(before_throw);  // race: throw
}

void print_first() {
  before_stream = 1;  // race: stream
  print();
}

void print_second() {
  print();
  use(before_stream);  // race: stream
}

}  // namespace

int main() {
  void (*const steps[])() = {throw_first, throw_second, print_first, print_second};
  take_turns(4, steps);
  return 0;
}
