/* SPDX-License-Identifier: Apache-2.0
 *
 * A program limits its own address space and memory: it has what it asked for, whatever a detector needs beside it, and
 * it is told the limits that it has set. Nor may anybody ask the processor's counter.
 */
// record: fasttrack (large blocks come and go; the reference detector looks at each byte)
#include "../support/order.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#define LIMIT ((rlim_t)4 << 30)
#define BLOCK ((size_t)64 << 20)

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int done;

static void* work(void* argument) {
  char* block = (char*)malloc(BLOCK);
  (void)argument;
  if (block == NULL) return NULL;
  memset(block, 1, 4096);
  pthread_mutex_lock(&mutex);
  done += block[1];
  pthread_mutex_unlock(&mutex);
  free(block);
  return NULL;
}

static int limit(int resource) {
  struct rlimit wanted = {LIMIT, RLIM_INFINITY};
  struct rlimit seen;
  if (setrlimit(resource, &wanted) != 0 || getrlimit(resource, &seen) != 0 || seen.rlim_cur != LIMIT) return 1;
  if (prlimit(0, resource, &wanted, &seen) != 0 || seen.rlim_cur != LIMIT) return 1;
  return seen.rlim_max != RLIM_INFINITY;
}

int main(void) {
  pthread_t threads[3];
  char* too_much;
  int i;
  if (limit(RLIMIT_AS) != 0 || limit(RLIMIT_DATA) != 0) return 1;
  too_much = (char*)malloc(opaque((size_t)LIMIT + BLOCK * 16));
  use((long long)too_much);
  if (too_much != NULL) return 2;
  prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
  for (i = 0; i < 3; i++) {
    if (pthread_create(&threads[i], NULL, work, NULL) != 0) return 3;
  }
  for (i = 0; i < 3; i++) pthread_join(threads[i], NULL);
  prctl(PR_SET_TSC, PR_TSC_ENABLE, 0, 0, 0);
  return done == 3 ? 0 : 4;
}
