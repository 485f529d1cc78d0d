// SPDX-License-Identifier: Apache-2.0
// Forty thousand places, each with exactly one access by each of two threads, in
// both orders, in all sizes, each access in an epoch of its own: none is missed.
// occurrences: 40000
#include "turns.h"

enum { kPlaces = 20000 };

char* forth[kPlaces];
char* back[kPlaces];

static void* first(void* argument) {
  pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
  (void)argument;
  for (int i = 0; i < kPlaces; i++) {
    *(int*)forth[i] = i;  // race: A B C
    pthread_mutex_lock(&own);
    pthread_mutex_unlock(&own);
  }
  order_reach(1);
  order_await(2);
  for (int i = 0; i < kPlaces; i++) *(long*)back[i] = i;  // race: D E F
  order_reach(3);
  return NULL;
}

static void* second(void* argument) {
  pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
  (void)argument;
  order_await(1);
  for (int i = 0; i < kPlaces; i++) {
    if (i % 3 == 0) *(long*)forth[i] = i;         // race: A
    if (i % 3 == 1) *(short*)(forth[i] + 2) = 1;  // race: B
    if (i % 3 == 2) use(forth[i][3]);             // race: C
    pthread_mutex_lock(&own);
    pthread_mutex_unlock(&own);
  }
  for (int i = 0; i < kPlaces; i++) {
    if (i % 3 == 0) use(*(long*)back[i]);      // race: D
    if (i % 3 == 1) *(int*)(back[i] + 4) = 1;  // race: E
    if (i % 3 == 2) back[i][7] = 1;            // race: F
    pthread_mutex_lock(&own);
    pthread_mutex_unlock(&own);
  }
  order_reach(2);
  order_await(3);
  return NULL;
}

int main(void) {
  pthread_t threads[2];
  for (int i = 0; i < kPlaces; i++) {
    forth[i] = malloc(24);
    back[i] = malloc(24);
  }
  pthread_create(&threads[0], NULL, first, NULL);
  pthread_create(&threads[1], NULL, second, NULL);
  pthread_join(threads[0], NULL);
  pthread_join(threads[1], NULL);
  return 0;
}
