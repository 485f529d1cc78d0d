// SPDX-License-Identifier: Apache-2.0
// Threads that create threads, each joined by its creator.
#include "turns.h"

int numbers[64];

struct Node {
  int low;
  int high;
};

static void* fill(void* argument) {
  struct Node* node = argument;
  if (node->high - node->low == 1) {
    numbers[node->low] = 1;
    return NULL;
  }
  int middle = (node->low + node->high) / 2;
  struct Node halves[2] = {{node->low, middle}, {middle, node->high}};
  pthread_t threads[2];
  for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, fill, &halves[i]);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  numbers[node->low] += numbers[middle];
  return NULL;
}

int main(void) {
  struct Node all = {0, 64};
  fill(&all);
  return numbers[0] == 64 ? 0 : 1;
}
