// SPDX-License-Identifier: Apache-2.0
// Sizes that clang's own pass leaves out: 10, 32 and 64 bytes.
// compilers: clang (vectors of g++ are structs in memory)
// tsan: misses them
#include "turns.h"

typedef long Four __attribute__((vector_size(32)));
typedef int Sixteen __attribute__((vector_size(64)));

Four four;
Sixteen sixteen;
long double ten;

static void first(void) {
  four = (Four){1, 2, 3, 4};  // race: A
  sixteen += 1;               // race: B
  ten += 1;                   // race: C
}

static void second(void) {
  ((volatile long*)&four)[3] = 1;     // race: A
  ((volatile int*)&sixteen)[13] = 1;  // race: B
  ((volatile char*)&ten)[9] = 1;      // race: C
}

int main(void) {
  in_turn(first, second);
  return 0;
}
