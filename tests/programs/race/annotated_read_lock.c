// SPDX-License-Identifier: Apache-2.0
// Two readers of an announced lock are not ordered.
#include "turns.h"

#include <sanitizer/tsan_interface.h>

int lock;
int data;

static void take(void) {
  __tsan_mutex_pre_lock(&lock, __tsan_mutex_read_lock);
  __tsan_mutex_post_lock(&lock, __tsan_mutex_read_lock, 0);
}

static void give(void) {
  __tsan_mutex_pre_unlock(&lock, __tsan_mutex_read_lock);
  __tsan_mutex_post_unlock(&lock, __tsan_mutex_read_lock);
}

static void first(void) {
  take();
  data = 1;  // race
  give();
}

static void second(void) {
  take();
  data = 2;  // race
  give();
}

int main(void) {
  __tsan_mutex_create(&lock, 0);
  in_turn(first, second);
  return 0;
}
