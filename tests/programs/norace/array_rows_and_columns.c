// SPDX-License-Identifier: Apache-2.0
// Rows, then columns, then rows of a matrix in turns of all threads: what belongs to
// whom is different in each phase.
#include "turns.h"

enum { kSize = 240, kThreads = 3, kPhases = 6 };

double (*matrix)[kSize];
pthread_barrier_t barrier;

static void body(int thread) {
  int phase;
  int outer;
  int inner;
  for (phase = 0; phase < kPhases; phase++) {
    for (outer = thread; outer < kSize; outer += kThreads) {
      for (inner = 0; inner < kSize; inner++) {
        double* element = phase % 2 == 0 ? &matrix[outer][inner] : &matrix[inner][outer];
        *element = *element + 1;
      }
    }
    pthread_barrier_wait(&barrier);
  }
}

int main(void) {
  int row;
  int column;
  matrix = calloc(kSize, sizeof *matrix);
  pthread_barrier_init(&barrier, NULL, kThreads);
  at_once(kThreads, body);
  for (row = 0; row < kSize; row++) {
    for (column = 0; column < kSize; column++) {
      if (matrix[row][column] != kPhases) return 1;
    }
  }
  free(matrix);
  return 0;
}
