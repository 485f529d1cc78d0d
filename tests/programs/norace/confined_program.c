/* SPDX-License-Identifier: Apache-2.0
 *
 * A program that confines its system calls to its own works as before: threads, locks, large blocks that come and go,
 * conditions. Each call that is not its own would end it.
 */
// record: fasttrack (large blocks come and go; the reference detector looks at each byte)
#include "../support/confine.h"
#include "../support/order.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 3
#define ROUNDS 200

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static long total;
static int turn;

static void* work(void* argument) {
  const int own = (int)(long)argument;
  int i;
  for (i = 0; i < ROUNDS; i++) {
    const size_t size = (size_t)1 << (10 + i % 12);
    char* block = (char*)malloc(size);
    memset(block, i, size);
    pthread_mutex_lock(&mutex);
    while (turn != own) pthread_cond_wait(&condition, &mutex);
    total += block[size / 2] == (char)i;
    turn = (turn + 1) % THREADS;
    pthread_cond_broadcast(&condition);
    pthread_mutex_unlock(&mutex);
    free(block);
  }
  return NULL;
}

static void all_work(void) {
  pthread_t threads[THREADS];
  long i;
  for (i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, work, (void*)i);
  for (i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
}

int main(void) {
  all_work();
  if (confine_to(CONFINE_BASIC, CONFINE_ALL, SECCOMP_RET_KILL_PROCESS) != 0) return 1;
  all_work();
  all_work();
  return total == 3L * THREADS * ROUNDS ? 0 : 2;
}
