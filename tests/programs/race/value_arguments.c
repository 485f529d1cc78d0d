// SPDX-License-Identifier: Apache-2.0
// Structures that are handed over by value are read as a whole when the function is
// called, wherever they lie.
// levels: -O0 -O1 -O2 -O3
#include "turns.h"

struct Big {
  long numbers[4];
};
struct Odd {
  char bytes[21];
};
struct __attribute__((packed)) Packed {
  char tag;
  long numbers[3];
};
struct Huge {
  long numbers[100];
};
struct Big of_globals;
struct Big* of_heap;
struct Odd odd;
struct Packed packed;
struct Huge huge;
struct Big array[3];
struct Big result;
long double extended;
long double (*volatile identity)(long double);

static __attribute__((noinline)) long sum(struct Big big) { return big.numbers[0] + big.numbers[3]; }
static __attribute__((noinline)) long sum_odd(struct Odd one) { return one.bytes[0] + one.bytes[20]; }
static __attribute__((noinline)) long sum_packed(struct Packed one) { return one.numbers[0] + one.tag; }
static __attribute__((noinline)) long sum_huge(long index, struct Huge one) { return one.numbers[index]; }
static __attribute__((noinline)) long double same(long double value) { return value; }
static __attribute__((noinline)) struct Big make(long a) {
  struct Big big = {{a, a + 1, a + 2, a + 3}};
  return big;
}

static void first(void) {
  use(sum(of_globals));           // race: global
  use(sum(*of_heap));             // race: heap
  use(sum_odd(odd));              // race: odd
  use(sum_packed(packed));        // race: packed
  use(sum_huge(3, huge));         // race: huge
  use(sum(array[opaque(1)]));     // race: array
  result = make(3);               // race: result
  use((long)identity(extended));  // race: extended
}

static void second(void) {
  of_globals.numbers[3] = 1;  // race: global
  of_heap->numbers[3] = 1;    // race: heap
  odd.bytes[20] = 1;          // race: odd
  packed.numbers[0] = 1;      // race: packed
  huge.numbers[3] = 1;        // race: huge
  array[1].numbers[0] = 1;    // race: array
  result.numbers[2] = 7;      // race: result
  extended = 3;               // race: extended
}

int main(void) {
  identity = same;
  of_heap = (struct Big*)calloc(1, sizeof *of_heap);
  in_turn(first, second);
  free(of_heap);
  return 0;
}
