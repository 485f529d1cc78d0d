// SPDX-License-Identifier: Apache-2.0
// Two threads sum an array up, which is no race; a third writes a row of it.
#include "turns.h"

enum { kRows = 300, kColumns = 300 };

long (*table)[kColumns];
long sums[3];

static long sum(int first, int last) {
  long result = 0;
  int row;
  int column;
  for (row = first; row < last; row++) {
    for (column = 0; column < kColumns; column++) {
      result += table[row][column];  // race
    }
  }
  return result;
}

static void sum_all(void) { sums[0] = sum(0, kRows); }
static void sum_upper(void) { sums[1] = sum(kRows / 2, kRows) + 1; }

static void write_row(void) {
  int column;
  for (column = 0; column < kColumns; column++) {
    table[200][column] = column;  // race
  }
}

int main(void) {
  table = calloc(kRows, sizeof *table);
  in_turn_3(sum_all, sum_upper, write_row);
  free(table);
  return 0;
}
