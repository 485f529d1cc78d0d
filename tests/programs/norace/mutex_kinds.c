// SPDX-License-Identifier: Apache-2.0
// Recursive, error-checking, adaptive, process-shared, priority-inheriting.
#include "turns.h"

#include <errno.h>

#define KINDS 5
pthread_mutex_t locks[KINDS];
int counters[KINDS];

static void initialise(int kind, int type, int shared, int protocol) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, type);
  pthread_mutexattr_setpshared(&attributes, shared);
  pthread_mutexattr_setprotocol(&attributes, protocol);
  if (pthread_mutex_init(&locks[kind], &attributes) != 0) abort();
  pthread_mutexattr_destroy(&attributes);
}

static void body(int index) {
  for (int i = 0; i < 100; i++) {
    for (int kind = 0; kind < KINDS; kind++) {
      pthread_mutex_lock(&locks[kind]);
      if (kind == 0) pthread_mutex_lock(&locks[kind]);
      counters[kind]++;
      if (kind == 0) pthread_mutex_unlock(&locks[kind]);
      counters[kind]++;
      if (kind == 1 && pthread_mutex_lock(&locks[kind]) != EDEADLK) abort();
      pthread_mutex_unlock(&locks[kind]);
      if (kind == 1 && pthread_mutex_unlock(&locks[kind]) != EPERM) abort();
    }
  }
  use(index);
}

int main(void) {
  initialise(0, PTHREAD_MUTEX_RECURSIVE, PTHREAD_PROCESS_PRIVATE, PTHREAD_PRIO_NONE);
  initialise(1, PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PROCESS_PRIVATE, PTHREAD_PRIO_NONE);
  initialise(2, PTHREAD_MUTEX_ADAPTIVE_NP, PTHREAD_PROCESS_PRIVATE, PTHREAD_PRIO_NONE);
  initialise(3, PTHREAD_MUTEX_NORMAL, PTHREAD_PROCESS_SHARED, PTHREAD_PRIO_NONE);
  initialise(4, PTHREAD_MUTEX_NORMAL, PTHREAD_PROCESS_PRIVATE, PTHREAD_PRIO_INHERIT);
  at_once(4, body);
  for (int kind = 0; kind < KINDS; kind++) {
    if (counters[kind] != 800) return 1;
    if (pthread_mutex_destroy(&locks[kind]) != 0) return 1;
  }
  return 0;
}
