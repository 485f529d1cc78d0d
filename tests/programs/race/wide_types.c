// SPDX-License-Identifier: Apache-2.0
// Types of more bytes than a register of the ordinary kind, and of odd sizes.
// levels: -O0 -O1 -O2 -O3
#include <complex.h>

#include "turns.h"

typedef int Two __attribute__((vector_size(8)));
typedef int Eight __attribute__((vector_size(32)));
typedef char Sixtyfour __attribute__((vector_size(64)));
typedef double Hundreds __attribute__((vector_size(256)));

long double extended;
double _Complex complex_double;
float _Complex complex_float;
long double _Complex complex_extended;
__extension__ __int128 large;
Two two;
Eight eight;
Sixtyfour sixtyfour;
Hundreds hundreds;
struct {
  unsigned a : 5;
  unsigned long b : 37;
} fields;
struct __attribute__((packed)) {
  char tag;
  __extension__ __int128 value;
} packed;
union {
  long double extended;
  char bytes[16];
} both;

#define USE(type, object)                              \
  do {                                                 \
    type copy = (object);                              \
    __asm__ volatile("" : : "r"(&copy) : "memory");    \
  } while (0)

static void first(void) {
  extended = 2;                            // race: extended
  USE(double _Complex, complex_double);    // race: complex
  complex_float = 2;                       // race: float
  complex_extended = 3;                    // race: complex_extended
  large += 5;                              // race: large
  USE(Two, two);                           // race: two
  eight += 1;                              // race: eight
  USE(Sixtyfour, sixtyfour);               // race: sixtyfour
  hundreds = hundreds + 1;                 // race: hundreds
  fields.b = 7;                            // race: fields
  USE(__int128, packed.value);             // race: packed
  both.extended = 1;                       // race: both
}

static void second(void) {
  ((char*)&extended)[9] = 1;         // race: extended
  ((char*)&complex_double)[15] = 1;  // race: complex
  use(((char*)&complex_float)[7]);   // race: float
  use(((char*)&complex_extended)[25]);  // race: complex_extended
  use(((char*)&large)[15]);          // race: large
  ((char*)&two)[7] = 1;              // race: two
  use(((char*)&eight)[31]);          // race: eight
  ((char*)&sixtyfour)[63] = 1;       // race: sixtyfour
  use(((char*)&hundreds)[255]);      // race: hundreds
  fields.b = 1;                      // race: fields
  ((char*)&packed)[16] = 1;          // race: packed
  use(both.bytes[9]);                // race: both
}

int main(void) {
  in_turn(first, second);
  return 0;
}
