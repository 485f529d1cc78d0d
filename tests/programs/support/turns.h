/* SPDX-License-Identifier: Apache-2.0
 *
 * The two shapes that most test programs have.
 *
 * in_turn: each function in a thread of its own, one after the other, in an
 * order that the detector cannot see (order.h). All threads live until the last
 * function has returned, so nothing but the functions themselves orders them.
 *
 * at_once: the same function in many threads, left to the scheduler.
 */
#ifndef DEADHEAT_TESTS_PROGRAMS_TURNS_H
#define DEADHEAT_TESTS_PROGRAMS_TURNS_H

#include "order.h"

#include <pthread.h>
#include <stdlib.h>

struct Turn {
  void (*step)(void);
  int number;
  int last;
};

static inline void* take_turn(void* argument) {
  struct Turn* turn = (struct Turn*)argument;
  order_await(turn->number);
  turn->step();
  order_reach(turn->number + 1);
  order_await(turn->last);
  return NULL;
}

static inline void take_turns(int count, void (*const* steps)(void)) {
  struct Turn turns[8];
  pthread_t threads[8];
  int i;
  for (i = 0; i < count; i++) {
    turns[i].step = steps[i];
    turns[i].number = i;
    turns[i].last = count;
    if (pthread_create(&threads[i], NULL, take_turn, &turns[i]) != 0) abort();
  }
  for (i = 0; i < count; i++) pthread_join(threads[i], NULL);
}

static inline void in_turn(void (*first)(void), void (*second)(void)) {
  void (*const steps[])(void) = {first, second};
  take_turns(2, steps);
}

static inline void in_turn_3(void (*first)(void), void (*second)(void), void (*third)(void)) {
  void (*const steps[])(void) = {first, second, third};
  take_turns(3, steps);
}

struct Share {
  void (*body)(int);
  int index;
};

static inline void* run_share(void* argument) {
  struct Share* share = (struct Share*)argument;
  share->body(share->index);
  return NULL;
}

static inline void at_once(int count, void (*body)(int)) {
  struct Share shares[64];
  pthread_t threads[64];
  int i;
  for (i = 0; i < count; i++) {
    shares[i].body = body;
    shares[i].index = i;
    if (pthread_create(&threads[i], NULL, run_share, &shares[i]) != 0) abort();
  }
  for (i = 0; i < count; i++) pthread_join(threads[i], NULL);
}

#endif
