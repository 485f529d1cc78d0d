// SPDX-License-Identifier: Apache-2.0
// Two fields are read together. The race is on the second, and its line is named.
#include "turns.h"

struct Pair {
  int left;
  int right;
};
struct Pair pair;
struct Pair* volatile where = &pair;
long sum;

static void first(void) {
  struct Pair* at = where;
  int left = at->left;
  int right = at->right;  // race
  sum = left + right;
}

static void second(void) { pair.right = 2; }  // race

int main(void) {
  in_turn(first, second);
  return 0;
}
