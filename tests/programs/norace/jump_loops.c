// SPDX-License-Identifier: Apache-2.0
// setjmp, sigsetjmp and their jumps, through locks and signal handlers.
#include "turns.h"

#include <setjmp.h>
#include <signal.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int counter;
static __thread jmp_buf target;
static __thread sigjmp_buf from_handler;

static void handler(int number) { siglongjmp(from_handler, number); }

__attribute__((noinline)) static void dive(int depth) {
  if (depth == 0) _longjmp(target, 1);
  dive(depth - 1);
  use(depth);
}

static void body(int index) {
  for (volatile int i = 0; i < 300; i++) {
    pthread_mutex_lock(&lock);
    if (_setjmp(target) == 0) dive(30);
    counter++;
    pthread_mutex_unlock(&lock);
    if (sigsetjmp(from_handler, 1) == 0) raise(SIGUSR1);
  }
  use(index);
}

int main(void) {
  signal(SIGUSR1, handler);
  at_once(3, body);
  return counter == 900 ? 0 : 1;
}
