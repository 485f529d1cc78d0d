// SPDX-License-Identifier: Apache-2.0
// A bounded queue with two conditions.
#include "turns.h"

#define ITEMS 400
#define ROOM 4

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t not_empty = PTHREAD_COND_INITIALIZER;
pthread_cond_t not_full = PTHREAD_COND_INITIALIZER;
int* queue[ROOM];
int count;
long sum;

static void put(int* item) {
  pthread_mutex_lock(&lock);
  while (count == ROOM) pthread_cond_wait(&not_full, &lock);
  queue[count++] = item;
  pthread_cond_signal(&not_empty);
  pthread_mutex_unlock(&lock);
}

static int* get(void) {
  pthread_mutex_lock(&lock);
  while (count == 0) pthread_cond_wait(&not_empty, &lock);
  int* item = queue[--count];
  pthread_cond_signal(&not_full);
  pthread_mutex_unlock(&lock);
  return item;
}

static void body(int index) {
  for (int i = 0; i < ITEMS; i++) {
    if (index % 2 == 0) {
      int* item = malloc(sizeof *item);
      *item = i;
      put(item);
    } else {
      int* item = get();
      __atomic_fetch_add(&sum, *item, __ATOMIC_RELAXED);
      free(item);
    }
  }
}

int main(void) {
  at_once(4, body);
  return sum == (long)ITEMS * (ITEMS - 1) ? 0 : 1;
}
