// SPDX-License-Identifier: Apache-2.0
// Read-only data: texts, tables, functions.
#include "turns.h"

#include <string.h>

static const int table[4] = {1, 2, 3, 4};

static void body(int index) {
  use(table[opaque(index) % 4]);
  use((long long)strlen(opaque_text("some text")));
}

int main(void) {
  at_once(16, body);
  return 0;
}
