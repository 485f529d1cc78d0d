// SPDX-License-Identifier: Apache-2.0
// The functions of deadheat/annotate.h.
// tsan: false alarms (has other names for these)
#include "turns.h"

#include <deadheat/annotate.h>

long ordered;
long locked;
long ignored;
long benign;
long renewed;
int tag;
int lock;

static void first(void) {
  deadheat_thread_name("first");
  ordered = 1;
  deadheat_happens_before(&tag);
  deadheat_lock_acquired(&lock);
  locked = 1;
  deadheat_lock_releasing(&lock);
  deadheat_ignore_begin();
  ignored = 1;
  deadheat_ignore_end();
  benign = 1;
  renewed = 1;
}

static void second(void) {
  deadheat_lock_acquired(&lock);
  locked = 2;
  deadheat_lock_releasing(&lock);
  ignored = 2;
  benign = 2;
  deadheat_new_memory(&renewed, sizeof renewed);
  renewed = 2;
}

static void third(void) {
  deadheat_happens_after(&tag);
  ordered = 2;
  deadheat_lock_acquired_shared(&lock);
  use(locked);
  deadheat_lock_releasing(&lock);
}

int main(void) {
  deadheat_lock_created(&lock);
  deadheat_benign(&benign, sizeof benign);
  in_turn_3(first, second, third);
  deadheat_lock_destroyed(&lock);
  return 0;
}
