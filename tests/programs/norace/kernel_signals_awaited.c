// SPDX-License-Identifier: Apache-2.0
// A thread that sends a signal comes before one that waits for it.
#include "turns.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

enum Way { kWait, kWaitInformation, kWaitInformationOfThread, kTimed, kTimer, kRead, kPoll, kSuspend, kWays };

int data[kWays];
pthread_t thread;
int file;

static void ignore(int number) { use(number); }

static void get(int way) {
  sigset_t set;
  siginfo_t information;
  struct signalfd_siginfo read_information;
  struct timespec limit = {10, 0};
  struct pollfd wanted = {file, POLLIN, 0};
  int number = 0;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  if (way == kWait && sigwait(&set, &number) != 0) abort();
  if ((way == kWaitInformation || way == kWaitInformationOfThread) && sigwaitinfo(&set, &information) < 0) abort();
  if ((way == kTimed || way == kTimer) && sigtimedwait(&set, NULL, &limit) < 0) abort();
  if (way == kPoll && poll(&wanted, 1, -1) != 1) abort();
  if (way == kPoll) data[way]++;
  if (way == kPoll || way == kRead) {
    if (read(file, &read_information, sizeof read_information) < 0) abort();
  }
  if (way == kSuspend) {
    sigfillset(&set);
    sigdelset(&set, SIGUSR2);
    sigsuspend(&set);
  }
  if (way != kPoll) data[way]++;
}

static void* waiter(void* argument) {
  int way;
  for (way = 0; way < kWays; way++) {
    order_reach(2 * way + 1);
    get(way);
  }
  return argument;
}

static void send_by_timer(void) {
  const struct itimerspec soon = {{0, 0}, {0, 1}};
  struct sigevent event;
  timer_t timer;
  memset(&event, 0, sizeof event);
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGUSR2;
  if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 || timer_settime(timer, 0, &soon, NULL) != 0) abort();
}

int main(void) {
  const union sigval value = {7};
  sigset_t all;
  int way;
  signal(SIGUSR2, ignore);
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, NULL);
  sigemptyset(&all);
  sigaddset(&all, SIGUSR2);
  file = signalfd(-1, &all, 0);
  pthread_create(&thread, NULL, waiter, NULL);
  for (way = 0; way < kWays; way++) {
    order_await(2 * way + 1);
    data[way] = 1;
    if (way == kTimer) {
      send_by_timer();
    } else if (way == kWaitInformationOfThread || way == kSuspend) {
      pthread_kill(thread, SIGUSR2);
    } else if (way == kWaitInformation) {
      sigqueue(getpid(), SIGUSR2, value);
    } else {
      kill(getpid(), SIGUSR2);
    }
  }
  pthread_join(thread, NULL);
  for (way = 0; way < kWays; way++) {
    if (data[way] != 2) return 2 + way;
  }
  return 0;
}
