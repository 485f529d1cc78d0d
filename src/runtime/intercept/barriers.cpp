// SPDX-License-Identifier: Apache-2.0
// Barriers: everything before an arrival happens before everything after any
// leaving of the same phase. The phase goes by hand from the arrival to the
// leaving, as a fast thread may arrive for the next phase before a slow one has
// left this one.
//
// The object itself is written by its initialisation and read by each arrival, so
// that a thread that arrives at a barrier whose making it cannot know of is a
// race. Destroying it is no access: libc allows that while others are leaving.
#include <pthread.h>

#include "runtime/intercept/relatives.h"
#include "runtime/intercept/replace.h"
#include "runtime/intercept/scheduled.h"
#include "runtime/on_sync.h"

using namespace deadheat::runtime;

DEADHEAT_REPLACE(int, pthread_barrier_init, pthread_barrier_t* barrier, const pthread_barrierattr_t* attributes,
                 unsigned count) {
  DEADHEAT_ORIGINAL(pthread_barrier_init);
  const int result = original(barrier, attributes, count);
  if (result == 0) report_written(barrier, sizeof(*barrier), DEADHEAT_CALLER);
  if (result == 0 && is_observing()) on_barrier_created(self(), address_of(barrier), count, DEADHEAT_CALLER);
  return result;
}

// The real function waits for threads that are still on their way out.
DEADHEAT_REPLACE(int, pthread_barrier_destroy, pthread_barrier_t* barrier) {
  DEADHEAT_ORIGINAL(pthread_barrier_destroy);
  const int result = original(barrier);
  if (result == 0 && is_observing()) on_sync_destroyed(self(), address_of(barrier), DEADHEAT_CALLER);
  return result;
}

DEADHEAT_REPLACE(int, pthread_barrier_wait, pthread_barrier_t* barrier) {
  DEADHEAT_ORIGINAL(pthread_barrier_wait);
  if (!is_observing()) return original(barrier);
  on_read(barrier, sizeof(*barrier), DEADHEAT_CALLER);
  give_to_sharers(address_of(barrier), DEADHEAT_CALLER);
  const BarrierPhase phase = on_barrier_arriving(self(), address_of(barrier), DEADHEAT_CALLER);
  const int result = wait_for_others([&] { return original(barrier); }, address_of(barrier));
  if (result == 0 || result == PTHREAD_BARRIER_SERIAL_THREAD) {
    on_barrier_left(self(), address_of(barrier), phase, DEADHEAT_CALLER);
    take_from_sharers(address_of(barrier), DEADHEAT_CALLER);
  }
  return result;
}
