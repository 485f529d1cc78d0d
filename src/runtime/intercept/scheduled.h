// SPDX-License-Identifier: Apache-2.0
// How interceptors of synchronisation other than locks tell the schedule.
#pragma once

#include "runtime/intercept/interceptor.h"
#include "runtime/scheduling.h"

namespace deadheat::runtime {

// Before synchronisation that does not wait.
inline void schedule_here() {
  if (is_scheduled && is_observing()) [[unlikely]]
    schedule_point(self());
}

// Runs a real call that waits for other threads, be it for a limited time. A thread that is
// cancelled in it does not come back here; its next synchronisation shows that it runs.
template <class RealWait>
inline int wait_for_others(RealWait real_wait, Address place = 0) {
  if (!is_scheduled || !is_observing()) return real_wait();
  const ScheduledWait wait(self(), place);
  return real_wait();
}

}  // namespace deadheat::runtime
