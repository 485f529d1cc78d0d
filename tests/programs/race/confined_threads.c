/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads race that begin after the program has confined its system calls to its own, and one that began before.
 */
#include "../support/confine.h"
#include "../support/turns.h"

int early;
int late;
int text[4];

static void write_early(void) { early = 1; }     // race: early
static void read_early(void) { use(early); }     // race: early
static void write_late(void) { late = 1; }       // race: late
static void write_late_again(void) { late = 2; } // race: late

static void* begun_before(void* argument) {
  (void)argument;
  order_await(1);
  write_early();
  order_reach(2);
  return NULL;
}

int main(void) {
  static void (*const steps[])(void) = {write_late, write_late_again};
  pthread_t thread;
  pthread_create(&thread, NULL, begun_before, NULL);
  if (confine_to(CONFINE_BASIC, CONFINE_ALL, SECCOMP_RET_KILL_PROCESS) != 0) return 1;
  order_reach(1);
  order_await(2);
  read_early();
  pthread_join(thread, NULL);
  order_now = 0;
  take_turns(2, steps);
  return 0;
}
