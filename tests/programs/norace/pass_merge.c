// SPDX-License-Identifier: Apache-2.0
// Each thread merges its half. The merging loop ends when one of its inputs does; how far
// the other one has been read is not known before.
#include "turns.h"

enum { kHalf = 200 };
int numbers[2 * kHalf];
int merged[2 * kHalf];

static void merge(const int* from, int* to) {
  long middle = opaque(kHalf / 2);
  long left = 0;
  long right = middle;
  long at = 0;
  while (left < middle && right < kHalf) to[at++] = from[left] <= from[right] ? from[left++] : from[right++];
  while (left < middle) to[at++] = from[left++];
  while (right < kHalf) to[at++] = from[right++];
}

static void merge_half(int half) { merge(numbers + half * kHalf, merged + half * kHalf); }

int main(void) {
  int at;
  for (at = 0; at < 2 * kHalf; at++) numbers[at] = at % (kHalf / 2) * 3 + at / 50;
  at_once(2, merge_half);
  for (at = 1; at < kHalf; at++) {
    if (merged[at] < merged[at - 1] || merged[kHalf + at] < merged[kHalf + at - 1]) return 1;
  }
  return 0;
}
