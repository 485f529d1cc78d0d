// SPDX-License-Identifier: Apache-2.0
// Threads come and go while blocks are handed from one to the next under a lock,
// read by several, freed, and allocated again: slots are continued, cells of
// many entries become new memory.
#include "turns.h"

enum { kBlocks = 16, kRounds = 40, kThreads = 6 };

pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
char* blocks[kBlocks];

static void* visitor(void* argument) {
  long number = (long)argument;
  for (int i = 0; i < kBlocks; i++) {
    pthread_rwlock_rdlock(&lock);
    for (int byte = 0; byte < 24; byte++) use(blocks[i][byte]);
    use(*(long*)(blocks[i] + 8));
    pthread_rwlock_unlock(&lock);
    if (i % kThreads != number) continue;
    pthread_rwlock_wrlock(&lock);
    free(blocks[i]);
    blocks[i] = malloc(24);
    for (int byte = 0; byte < 24; byte++) blocks[i][byte] = (char)number;
    pthread_rwlock_unlock(&lock);
  }
  return NULL;
}

int main(void) {
  for (int i = 0; i < kBlocks; i++) blocks[i] = calloc(1, 24);
  for (int round = 0; round < kRounds; round++) {
    pthread_t threads[kThreads];
    for (long i = 0; i < kThreads; i++) {
      if (pthread_create(&threads[i], NULL, visitor, (void*)i) != 0) return 1;
    }
    for (int i = 0; i < kThreads; i++) pthread_join(threads[i], NULL);
  }
  for (int i = 0; i < kBlocks; i++) free(blocks[i]);
  return 0;
}
