// SPDX-License-Identifier: Apache-2.0
// A thread that sends a signal, or sets a timer, comes before the handler.
#include "turns.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum Way { kThread, kThreadId, kQueued, kProcess, kProcessQueued, kAlarm, kInterval, kTimer, kDescriptor, kWays };

int data[kWays];
int target_id;
pthread_t target_thread;
int ends[2];

static int signal_of(int way) {
  if (way == kAlarm || way == kInterval) return SIGALRM;
  return way == kThread ? SIGUSR1 : SIGRTMIN + way;
}

int current_way;

static void handler(int number, siginfo_t* information, void* context) {
  const int way = order_load(&current_way);
  use((long long)information + (long long)context);
  if (number != signal_of(way)) abort();
  data[way]++;
  order_reach(2 + way);
}

static void* target(void* argument) {
  sigset_t none;
  sigemptyset(&none);
  order_store(&target_id, (int)syscall(SYS_gettid));
  pthread_sigmask(SIG_SETMASK, &none, NULL);
  order_reach(1);
  order_await(1 + kWays);
  return argument;
}

static void send_by_timer(void) {
  const struct itimerspec soon = {{0, 0}, {0, 1}};
  struct sigevent event;
  timer_t timer;
  memset(&event, 0, sizeof event);
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = signal_of(kTimer);
  if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 || timer_settime(timer, 0, &soon, NULL) != 0) abort();
}

static void send(int way) {
  const union sigval value = {7};
  const struct itimerval soon = {{0, 0}, {0, 1}};
  if (way == kThread) pthread_kill(target_thread, signal_of(way));
  if (way == kThreadId) tgkill(getpid(), order_load(&target_id), signal_of(way));
  if (way == kQueued) pthread_sigqueue(target_thread, signal_of(way), value);
  if (way == kProcess) kill(getpid(), signal_of(way));
  if (way == kProcessQueued) sigqueue(getpid(), signal_of(way), value);
  if (way == kAlarm) ualarm(1, 0);
  if (way == kInterval) setitimer(ITIMER_REAL, &soon, NULL);
  if (way == kTimer) send_by_timer();
  if (way == kDescriptor && write(ends[1], "x", 1) != 1) abort();
}

int main(void) {
  struct sigaction action;
  sigset_t all;
  int way;
  if (pipe(ends) != 0) return 1;
  fcntl(ends[0], F_SETFL, O_ASYNC);
  fcntl(ends[0], F_SETSIG, signal_of(kDescriptor));
  fcntl(ends[0], F_SETOWN, getpid());
  memset(&action, 0, sizeof action);
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO;
  for (way = 0; way < kWays; way++) sigaction(signal_of(way), &action, NULL);
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, NULL);
  pthread_create(&target_thread, NULL, target, NULL);
  order_await(1);
  for (way = 0; way < kWays; way++) {
    order_store(&current_way, way);
    data[way] = 1;
    send(way);
    order_await(2 + way);
  }
  pthread_join(target_thread, NULL);
  for (way = 0; way < kWays; way++) {
    if (data[way] != 2) return 2 + way;
  }
  return 0;
}
