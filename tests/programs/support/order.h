/* SPDX-License-Identifier: Apache-2.0
 *
 * Order that no race detector can see.
 *
 * A test of a detector needs to know which of two unsynchronised accesses comes
 * first, and must not tell the detector. Sleeping is slow and fails under load;
 * any atomic, lock or library call is an order that the detector knows of. Here
 * everything is inline assembly in functions without detection, and the futex
 * calls do not pass through the C library, so that no runtime intercepts them.
 * To the compiler each function is a barrier: accesses stay on their side.
 *
 * The clock of a program is one number that only grows. A thread announces that
 * it has got to a step with order_reach, another waits for it with order_await.
 */
#ifndef DEADHEAT_TESTS_PROGRAMS_ORDER_H
#define DEADHEAT_TESTS_PROGRAMS_ORDER_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <limits.h>
#include <stddef.h>

#define ORDER_FUTEX_WAIT 128 /* FUTEX_WAIT | FUTEX_PRIVATE_FLAG */
#define ORDER_FUTEX_WAKE 129 /* FUTEX_WAKE | FUTEX_PRIVATE_FLAG */
#define ORDER_FUTEX_NUMBER 202

#define ORDER_UNSEEN __attribute__((no_sanitize("thread"), noinline, unused))

static int order_now;

ORDER_UNSEEN static int order_load(const int* at) {
  int value;
  __asm__ volatile("movl %1, %0" : "=r"(value) : "m"(*at) : "memory");
  return value;
}

ORDER_UNSEEN static void order_store(int* at, int value) {
  __asm__ volatile("xchgl %0, %1" : "+r"(value), "+m"(*at) : : "memory");
}

ORDER_UNSEEN static int order_add(int* at, int amount) {
  int before = amount;
  __asm__ volatile("lock; xaddl %0, %1" : "+r"(before), "+m"(*at) : : "memory", "cc");
  return before;
}

static inline long order_futex(int* at, long operation, long value) {
  long result = ORDER_FUTEX_NUMBER;
  __asm__ volatile(
      "xorl %%r10d, %%r10d\n\t"
      "syscall"
      : "+a"(result)
      : "D"(at), "S"(operation), "d"(value)
      : "rcx", "r10", "r11", "memory", "cc");
  return result;
}

/* Says on `place` that `step` has been reached. */
static inline void order_reach_at(int* place, int step) {
  order_store(place, step);
  order_futex(place, ORDER_FUTEX_WAKE, INT_MAX);
}

/* Waits until `place` has got to `step` or beyond. */
static inline void order_await_at(int* place, int step) {
  for (;;) {
    int now = order_load(place);
    if (now >= step) return;
    order_futex(place, ORDER_FUTEX_WAIT, now);
  }
}

static inline void order_reach(int step) { order_reach_at(&order_now, step); }
static inline void order_await(int step) { order_await_at(&order_now, step); }

/* Adds one to `place` and waits until `count` threads have done so. */
static inline void order_meet(int* place, int count) {
  order_add(place, 1);
  order_futex(place, ORDER_FUTEX_WAKE, INT_MAX);
  order_await_at(place, count);
}

/* The optimiser must compute `value`, and learns nothing of what becomes of it. */
static inline void use(long long value) { __asm__ volatile("" : : "r"(value) : "memory"); }

/* The same number or pointer, of which the optimiser knows nothing. */
static inline size_t opaque(size_t value) {
  __asm__ volatile("" : "+r"(value) : : "memory");
  return value;
}

static inline char* opaque_text(const char* text) {
  __asm__ volatile("" : "+r"(text) : : "memory");
  return (char*)text;
}

#endif
