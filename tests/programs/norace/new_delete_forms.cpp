// SPDX-License-Identifier: Apache-2.0
// Every form of new and delete, in many threads.
#include <new>

#include "turns.h"

struct alignas(128) Wide {
  char bytes[128];
};

static void body(int index) {
  for (int i = 0; i < 200; i++) {
    int* number = new int(index);
    Wide* wide = new Wide[3];
    char* quiet = new (std::nothrow) char[100];
    wide[2].bytes[127] = 1;
    quiet[99] = 1;
    use(*number);
    delete number;
    delete[] wide;
    delete[] quiet;
  }
}

int main() { at_once(8, body); }
