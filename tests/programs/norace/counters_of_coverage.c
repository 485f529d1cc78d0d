// SPDX-License-Identifier: Apache-2.0
// The counters of --coverage are no variables of the program.
// flags: --coverage -fprofile-dir=/dev/null -fprofile-update=single
// libraries: --coverage
// tsan: g++ reports them
#include "turns.h"

__attribute__((noinline)) static int work(int turns) {
  int at;
  int sum = 0;
  for (at = 0; at < turns; at++) sum += at % 3 == 0 ? at : 1;
  return sum;
}

static int (*volatile pointer)(int) = work;

static void body(int index) {
  int at;
  char text[64];
  for (at = 0; at < 50; at++) use(work((int)opaque(10)) + pointer(index));
  __builtin_memset(text, index, opaque(10));
  use(text[3]);
  switch (work((int)opaque(7)) % 4) {
    case 0:
      use(1);
      break;
    case 1:
      use(2);
      break;
    default:
      use(3);
  }
}

int main(void) {
  at_once(4, body);
  return 0;
}
