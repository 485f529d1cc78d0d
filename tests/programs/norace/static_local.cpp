// SPDX-License-Identifier: Apache-2.0
// Static locals are initialised by one thread; the others wait for it.
#include "turns.h"

int constructed;

struct Table {
  int numbers[100];
  Table() {
    constructed++;
    for (int i = 0; i < 100; i++) numbers[i] = static_cast<int>(opaque(i));
  }
};

static Table& table() {
  static Table instance;
  return instance;
}

static void body(int index) { use(table().numbers[index]); }

int main() {
  at_once(8, body);
  return constructed == 1 ? 0 : 1;
}
