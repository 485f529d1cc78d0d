// SPDX-License-Identifier: Apache-2.0
// The functions for texts stop at the zero; what lies behind it belongs to
// another thread.
#include "turns.h"

#include <string.h>

char text[64] = "12345";
char other[64] = "12399";

static void first(void) {
  text[6] = 'x';
  other[6] = 'x';
}

static void second(void) {
  use((long long)strlen(opaque_text(text)));
  use(strcmp(opaque_text(text), opaque_text(other)));
  use((long long)strchr(opaque_text(text), '3'));
  free(strdup(opaque_text(text)));
  strncpy(opaque_text(text), opaque_text("54321"), 5);
}

int main(void) {
  in_turn(first, second);
  return 0;
}
