// SPDX-License-Identifier: Apache-2.0
// strcmp reads both texts.
#include "turns.h"

#include <string.h>

char left[64] = "1234";
char right[64] = "1234";

static void first(void) { right[1] = '2'; }                                       // race
static void second(void) { use(strcmp(opaque_text(left), opaque_text(right))); }  // race

int main(void) {
  in_turn(first, second);
  return 0;
}
