// SPDX-License-Identifier: Apache-2.0
// stdio has locks of its own.
#include "turns.h"

#include <stdio.h>

static void body(int index) {
  for (int i = 0; i < 50; i++) {
    char text[64];
    snprintf(text, sizeof text, "thread %d line %d\n", index, i);
    fputs(text, stdout);
    printf("and %s", text);
  }
}

int main(void) {
  at_once(4, body);
  return fflush(stdout);
}
