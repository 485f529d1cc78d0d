/* SPDX-License-Identifier: Apache-2.0
 *
 * After the filter nothing can be mapped or given back, time cannot be asked, and no thread can begin: those that run go
 * on, with locks and memory that they have. Traps instead of an end: a handler would see a call that is not the program's.
 */
// record: fasttrack (large blocks come and go; the reference detector looks at each byte)
#include "../support/confine.h"
#include "../support/order.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>

#define SIZE (4 << 20)

static const int calls[] = {SYS_write, SYS_futex, SYS_exit, SYS_exit_group, SYS_rt_sigreturn, SYS_rt_sigprocmask,
                            SYS_madvise};
static char memory[SIZE];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int rounds;
static volatile int foreign_calls;

static void on_foreign_call(int number) {
  (void)number;
  foreign_calls = foreign_calls + 1;
}

/* The number of those that have come here; the third one finds it reached. */
static void order_pass(void) {
  order_add(&order_now, 1);
  order_futex(&order_now, ORDER_FUTEX_WAKE, INT_MAX);
}

static void* work(void* argument) {
  int i;
  (void)argument;
  order_pass();
  order_await(3);
  for (i = 0; i < 100; i++) {
    pthread_mutex_lock(&mutex);
    memset(memory, i, SIZE / 100);
    rounds++;
    pthread_mutex_unlock(&mutex);
  }
  return NULL;
}

int main(void) {
  pthread_t threads[2];
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_foreign_call;
  sigaction(SIGSYS, &action, NULL);
  pthread_create(&threads[0], NULL, work, NULL);
  pthread_create(&threads[1], NULL, work, NULL);
  order_await(2);
  if (confine_to(calls, (int)(sizeof calls / sizeof calls[0]), CONFINE_ALL, SECCOMP_RET_TRAP) != 0) return 1;
  work(NULL);
  while (pthread_mutex_lock(&mutex) == 0 && rounds != 300) pthread_mutex_unlock(&mutex);
  pthread_mutex_unlock(&mutex);
  return foreign_calls == 0 ? 0 : 2;
}
