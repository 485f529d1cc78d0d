// SPDX-License-Identifier: Apache-2.0
// A quarter of a terabyte of address space, used in two places, is new memory each time,
// and costs what is used of it. Where nobody may reserve so much, less.
#include "turns.h"

#include <pthread.h>
#include <sys/mman.h>

static void step(void) {
  for (size_t size = (size_t)1 << 38; size >= (size_t)1 << 28; size >>= 2) {
    char* block = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (block == MAP_FAILED) continue;
    pthread_mutex_t* mutex = (pthread_mutex_t*)(block + size / 2);
    pthread_mutex_init(mutex, NULL);
    pthread_mutex_lock(mutex);
    block[0] = 1;
    block[size - 1] = 1;
    pthread_mutex_unlock(mutex);
    munmap(block, size);
    return;
  }
}

int main(void) {
  in_turn_3(step, step, step);
  return 0;
}
