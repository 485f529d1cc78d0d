// SPDX-License-Identifier: Apache-2.0
// A switch between fibers that is said not to synchronise.
#include "turns.h"

#include <sanitizer/tsan_interface.h>

int shared;

int main(void) {
  void* first = __tsan_get_current_fiber();
  void* second = __tsan_create_fiber(0);
  __tsan_set_fiber_name(second, "second");
  shared = 1;  // race
  __tsan_switch_to_fiber(second, __tsan_switch_to_fiber_no_sync);
  shared = 2;  // race
  __tsan_switch_to_fiber(first, __tsan_switch_to_fiber_no_sync);
  __tsan_destroy_fiber(second);
  return 0;
}
