// SPDX-License-Identifier: Apache-2.0
// The constructors write the pointer to the table, over and over, before anyone
// else sees the object.
#include "turns.h"

struct Base {
  Base() { use(1); }
  virtual int act() { return 1; }
  virtual ~Base() { use(2); }
};

struct Derived : Base {
  int act() override { return 2; }
};

static void body(int) {
  for (int i = 0; i < 100; i++) {
    Base* object = new Derived;
    __asm__ volatile("" : "+r"(object));
    use(object->act());
    delete object;
  }
}

int main() { at_once(8, body); }
