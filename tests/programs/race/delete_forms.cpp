// SPDX-License-Identifier: Apache-2.0
// Every form of delete gives the block back.
#include <new>

#include "turns.h"

struct alignas(64) Wide {
  char bytes[64];
};

char* single;
int* several;
Wide* wide;
Wide* wide_several;
char* quiet;
void* raw;

static void first() {
  *single = 1;                   // race: single
  several[7] = 1;                // race: array
  wide->bytes[5] = 1;            // race: aligned
  wide_several[2].bytes[1] = 1;  // race: aligned-array
  quiet[3] = 1;                  // race: nothrow
  *static_cast<char*>(raw) = 1;  // race: raw
}

static void second() {
  delete single;                           // race: single
  delete[] several;                        // race: array
  delete wide;                             // race: aligned
  delete[] wide_several;                   // race: aligned-array
  operator delete[](quiet, std::nothrow);  // race: nothrow
  operator delete(raw, 24);                // race: raw
}

int main() {
  single = new char;
  several = new int[10];
  wide = new Wide;
  wide_several = new Wide[3];
  quiet = new (std::nothrow) char[20];
  raw = operator new(24);
  in_turn(first, second);
}
