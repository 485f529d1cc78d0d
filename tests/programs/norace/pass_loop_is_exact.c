// SPDX-License-Identifier: Apache-2.0
// Loops next to each other: every second element, every third, those up to a
// condition, and the elements behind the last.
// tsan: clang reports reads of the other half of each pair (the vectoriser made them)
#include "turns.h"

enum { kCount = 120 };
int even_odd[kCount];
struct {
  int left;
  int right;
} pairs[kCount];
char some[kCount];
int tail[kCount];

static void first(void) {
  long count = opaque(kCount);
  long at;
  long sum = 0;
  for (at = 0; at < count; at += 2) even_odd[at] = 1;
  for (at = 0; at < count; at++) sum += pairs[at].left;
  for (at = 0; at < count; at++) {
    if (at % 3 == 0) some[at] = 1;
  }
  for (at = 0; at < count && tail[at] == 0; at++) tail[at] = 1;
  if (sum != 0) abort();
}

static void second(void) {
  long count = opaque(kCount);
  long at;
  for (at = 1; at < count; at += 2) even_odd[at] = 2;
  for (at = 0; at < count; at++) pairs[at].right = 2;
  for (at = 0; at < count; at++) {
    if (at % 3 != 0) some[at] = 2;
  }
  for (at = kCount - 1; at > kCount / 2; at--) tail[at] += 3;
}

int main(void) {
  tail[kCount / 2] = 1;
  in_turn(first, second);
  if (even_odd[0] != 1 || even_odd[1] != 2 || pairs[7].right != 2 || some[3] != 1 || some[4] != 2) return 1;
  return tail[0] != 1 || tail[kCount - 1] != 3;
}
