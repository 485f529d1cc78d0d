// SPDX-License-Identifier: Apache-2.0
// A signal hands over what its sender did before, and nothing else: not what it does afterwards, nor
// what a sender to another thread did. Setting a timer again orders nobody before who set it first.
#include "turns.h"

#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int sent_too_early;
int by_another;
int after_timer;

static void handler(int number) {
  use(number);
  order_reach(2);
  order_await(3);
  use(sent_too_early);  // race: early
  order_reach(4);
}

static void other_handler(int number) { use(number); }

static void* target(void* argument) {
  order_reach(1);
  order_await(4);
  return argument;
}

static void* waiter(void* argument) {
  sigset_t set;
  int number;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  order_await(11);
  if (sigwait(&set, &number) != 0) abort();
  use(by_another);  // race: another
  return argument;
}

static void on_timer(union sigval value) {
  use(value.sival_int);
  order_await(21);
  use(after_timer);  // race: timer
  order_reach(22);
}

int main(void) {
  const struct itimerspec soon = {{0, 0}, {0, 1}};
  pthread_t thread;
  pthread_t second;
  sigset_t set;
  struct sigevent event;
  timer_t timer;
  signal(SIGUSR1, handler);
  signal(SIGUSR2, other_handler);
  pthread_create(&thread, NULL, target, NULL);
  order_await(1);
  pthread_kill(thread, SIGUSR1);
  order_await(2);
  sent_too_early = 1;  // race: early
  order_reach(3);
  order_await(4);

  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &set, NULL);
  pthread_create(&second, NULL, waiter, NULL);
  pthread_kill(second, SIGUSR2);
  by_another = 1;  // race: another
  pthread_kill(pthread_self(), SIGUSR2);
  order_reach(11);
  pthread_join(second, NULL);
  pthread_join(thread, NULL);

  memset(&event, 0, sizeof event);
  event.sigev_notify = SIGEV_THREAD;
  event.sigev_notify_function = on_timer;
  if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) return 1;
  if (timer_settime(timer, 0, &soon, NULL) != 0) return 1;
  after_timer = 1;  // race: timer
  order_reach(21);
  order_await(22);
  return 0;
}
