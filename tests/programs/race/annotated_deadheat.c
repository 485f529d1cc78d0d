// SPDX-License-Identifier: Apache-2.0
// The functions of deadheat/annotate.h, where they do not help.
#include "turns.h"

#include <deadheat/annotate.h>

long ordered;
long locked;
int tags[2];
int lock;

static void first(void) {
  ordered = 1;  // race: tag
  deadheat_happens_before(&tags[0]);
  deadheat_lock_acquired_shared(&lock);
  locked = 1;  // race: lock
  deadheat_lock_releasing(&lock);
}

static void second(void) {
  deadheat_happens_after(&tags[1]);
  ordered = 2;  // race: tag
  deadheat_lock_acquired_shared(&lock);
  locked = 2;  // race: lock
  deadheat_lock_releasing(&lock);
}

int main(void) {
  in_turn(first, second);
  return 0;
}
