// SPDX-License-Identifier: Apache-2.0
// A virtual call while the destructor of the base has already put its own table
// in place.
#include <new>

#include "turns.h"

struct Base {
  virtual void act() {}
  virtual ~Base() { use(1); }  // race
};

struct Derived : Base {
  void act() override {}
};

Base* shared;

static void first() { shared->act(); }  // race
static void second() { shared->~Base(); }

alignas(Derived) static char room[sizeof(Derived)];

int main() {
  shared = new (room) Derived;
  __asm__ volatile("" : "+m"(shared));
  in_turn(first, second);
}
