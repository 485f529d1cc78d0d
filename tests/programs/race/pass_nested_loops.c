// SPDX-License-Identifier: Apache-2.0
// A column of a matrix in a loop nest, one element of which another thread reads.
#include "turns.h"

enum { kRows = 20, kColumns = 30 };
long matrix[kRows][kColumns];

static void first(void) {
  long rows = opaque(kRows);
  long row;
  long column;
  for (column = 3; column < 5; column++) {
    for (row = 0; row < rows; row++) matrix[row][column] += row;  // race
  }
}

static void second(void) { use(matrix[kRows - 1][4]); }  // race

int main(void) {
  in_turn(first, second);
  return 0;
}
