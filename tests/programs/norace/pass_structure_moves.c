// SPDX-License-Identifier: Apache-2.0
// Small copies whose source and destination overlap, of all sizes.
#include "turns.h"

#include <string.h>

char bytes[128];

#define MOVE(size)                                                        \
  for (int at = 0; at < 128; ++at) bytes[at] = (char)at;                  \
  memmove(bytes + 3, bytes, size);                                        \
  for (int at = 0; at < (size); ++at) wrong += bytes[at + 3] != (char)at; \
  for (int at = (size) + 3; at < 128; ++at) wrong += bytes[at] != (char)at;

int main(void) {
  int wrong = 0;
  MOVE(1) MOVE(2) MOVE(3) MOVE(4) MOVE(5) MOVE(6) MOVE(7) MOVE(8) MOVE(9) MOVE(10) MOVE(11) MOVE(12) MOVE(13) MOVE(14)
              MOVE(15) MOVE(16) MOVE(17) MOVE(24) MOVE(31) MOVE(32) MOVE(48) MOVE(63) MOVE(64)
                  MOVE(65) return wrong == 0
      ? 0
      : 1;
}
