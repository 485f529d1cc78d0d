// SPDX-License-Identifier: Apache-2.0
// Forks while other threads allocate and lock: the child must not find the
// detector's own locks taken.
// record: fasttrack (thousands of processes)
#include "turns.h"

#include <sys/wait.h>
#include <unistd.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int counter;
int stop;

static void body(int index) {
  if (index > 0) {
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
      char* block = malloc(100 + (size_t)index);
      block[5] = 1;
      free(block);
      pthread_mutex_lock(&lock);
      counter++;
      pthread_mutex_unlock(&lock);
    }
    return;
  }
  for (int i = 0; i < 30; i++) {
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
      free(malloc(1000));
      _exit(7);
    }
    if (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 7) abort();
  }
  __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
}

int main(void) {
  at_once(3, body);
  return 0;
}
