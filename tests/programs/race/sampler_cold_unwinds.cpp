// SPDX-License-Identifier: Apache-2.0
// Exceptions and jumps leave calls that the cold-code sampler looks at and calls that it
// does not. What comes afterwards is looked at as its own function says.
// options: sampler=cold
// record: no (a sampler has no trace)
#include "turns.h"

#include <setjmp.h>

int thrown;
int jumped;
int called;
static __thread jmp_buf target;

__attribute__((noinline)) static void dive(int depth, int jumps) {
  if (depth == 0 && jumps != 0) longjmp(target, 1);
  if (depth == 0) throw depth;
  dive(depth - 1, jumps);
  use(depth);
}

__attribute__((noinline)) static void throw_around() {
  for (int i = 0; i < 500; i++) {
    try {
      dive(i % 30, 0);
    } catch (int) {
    }
  }
}

__attribute__((noinline)) static void jump_around() {
  for (volatile int i = 0; i < 500; i = i + 1) {
    if (setjmp(target) == 0) dive(i % 30, 1);
  }
}

__attribute__((noinline)) static void cold_call() {
  called = 1;  // race: called
}

static void first() {
  throw_around();
  thrown = 1;  // race: thrown
  jump_around();
  jumped = 1;  // race: jumped
  cold_call();
}

static void second() {
  throw_around();
  thrown = 2;  // race: thrown
  jump_around();
  jumped = 2;  // race: jumped
  called = 2;  // race: called
}

int main() { in_turn(first, second); }
