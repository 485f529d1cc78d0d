// SPDX-License-Identifier: Apache-2.0
// The rows below the pivot, ever fewer and ever shorter, divided between threads
// anew in every step.
// record: fasttrack (millions of bytes, one by one)
#include "turns.h"

enum { kSize = 160, kThreads = 3 };

double (*matrix)[kSize];
pthread_barrier_t barrier;

static void body(int thread) {
  int pivot;
  int row;
  int column;
  for (pivot = 0; pivot < kSize - 1; pivot++) {
    for (row = pivot + 1 + thread; row < kSize; row += kThreads) {
      for (column = pivot; column < kSize; column++) matrix[row][column] -= matrix[pivot][column] / 1024;
    }
    pthread_barrier_wait(&barrier);
  }
}

int main(void) {
  int row;
  int column;
  matrix = malloc(kSize * sizeof *matrix);
  for (row = 0; row < kSize; row++) {
    for (column = 0; column < kSize; column++) matrix[row][column] = row + column;
  }
  pthread_barrier_init(&barrier, NULL, kThreads);
  at_once(kThreads, body);
  free(matrix);
  return 0;
}
