// SPDX-License-Identifier: Apache-2.0
// Setting a timer comes before what it starts: a thread of the C library, a descriptor.
#include "turns.h"

#include <signal.h>
#include <string.h>
#include <sys/select.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

int by_thread;
int by_descriptor;
int by_select;
int file;

static void on_timer(union sigval value) {
  by_thread += value.sival_int;
  order_reach(1);
}

static void first(void) {
  const struct itimerspec soon = {{0, 0}, {0, 1}};
  by_descriptor = 1;
  by_select = 1;
  if (timerfd_settime(file, 0, &soon, NULL) != 0) abort();
}

static void second(void) {
  unsigned long long count = 0;
  fd_set set;
  FD_ZERO(&set);
  FD_SET(file, &set);
  if (select(file + 1, &set, NULL, NULL, NULL) != 1) abort();
  by_select++;
  if (read(file, &count, sizeof count) != sizeof count) abort();
  by_descriptor++;
}

int main(void) {
  const struct itimerspec soon = {{0, 0}, {0, 1}};
  struct sigevent event;
  timer_t timer;
  file = timerfd_create(CLOCK_MONOTONIC, 0);
  if (file < 0) return 1;
  memset(&event, 0, sizeof event);
  event.sigev_notify = SIGEV_THREAD;
  event.sigev_notify_function = on_timer;
  event.sigev_value.sival_int = 5;
  if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) return 1;
  by_thread = 1;
  if (timer_settime(timer, 0, &soon, NULL) != 0) return 1;
  order_await(1);
  order_store(&order_now, 0);
  in_turn(first, second);
  return by_descriptor == 2 && by_select == 2 ? 0 : 1;
}
