// SPDX-License-Identifier: Apache-2.0
// A lock that the detector cannot see, announced as one.
#include "turns.h"

#include <sanitizer/tsan_interface.h>

int lock;
int data;

static void step(void) {
  __tsan_mutex_pre_lock(&lock, 0);
  __tsan_mutex_post_lock(&lock, 0, 0);
  data++;
  __tsan_mutex_pre_unlock(&lock, 0);
  __tsan_mutex_post_unlock(&lock, 0);
}

static void reader(void) {
  __tsan_mutex_pre_lock(&lock, __tsan_mutex_read_lock);
  __tsan_mutex_post_lock(&lock, __tsan_mutex_read_lock, 0);
  use(data);
  __tsan_mutex_pre_unlock(&lock, __tsan_mutex_read_lock);
  __tsan_mutex_post_unlock(&lock, __tsan_mutex_read_lock);
}

int main(void) {
  __tsan_mutex_create(&lock, 0);
  in_turn_3(step, reader, step);
  __tsan_mutex_destroy(&lock, 0);
  return data == 2 ? 0 : 1;
}
