// SPDX-License-Identifier: Apache-2.0
#include "runtime/sampling.h"

#include <ctime>

#include "runtime/access_check.h"
#include "runtime/on_sync.h"
#include "runtime/options.h"
#include "runtime/raw_report.h"
#include "runtime/shadow_memory.h"
#include "runtime/thread_registry.h"
#include "runtime/unchecked_code.h"
#include "runtime/unsampled.h"

namespace deadheat::runtime {

bool samples = false;
std::atomic<bool> period_is_open{false};
std::atomic<std::uint64_t> quiet_time{0};

namespace {

// Ticks. A longer event was interrupted: the time belongs to others.
constexpr std::uint64_t kLongestEvent = 1 << 15;
constexpr std::uint64_t kLongestInPeriod = 1 << 18;  // races are told

// Own processor time. The call is not free.
std::uint64_t own_time() { return read_clock(CLOCK_THREAD_CPUTIME_ID); }

void put(std::uint64_t& place, std::uint64_t value) { __atomic_store_n(&place, value, __ATOMIC_RELAXED); }

// Joins the period that is open, or leaves the one that has ended.
[[gnu::noinline]] void follow_period(ThreadState& self) {
  if (!self.clock.is_sampling()) {
    // Says so first, and looks again: the period may have ended since, and the controller found nobody in it.
    put(self.sampling.is_in_period, 1);
    __asm__ volatile("" ::: "memory");  // and the controller's membarrier(2)
    if (!period_is_open.load(std::memory_order_relaxed)) return put(self.sampling.is_in_period, 0);
  }
  {
    SpinHolder hold(self.clock_lock);
    self.clock.is_sampling() ? self.clock.leave_sampling() : self.clock.enter_sampling();
  }
  put(self.sampling.is_in_period, self.clock.is_sampling() ? 1 : 0);
  renew_epoch(self);
}

// Whoever is in a period and was nudged may have been in another one, which has ended: what it has recorded in this
// epoch may be gone, and it begins a new one.
[[gnu::noinline]] void follow_nudge(ThreadState& self) {
  current.cell_mask = kCellMask;
  __asm__ volatile("" ::: "memory");
  if (self.clock.is_sampling()) follow_period(self);
}

}  // namespace

void begin_sampling_event(ThreadState& self) {
  ThreadSampling& own = self.sampling;
  if (own.depth++ != 0) return;
  own.unchecked_changes = unchecked_changes();
  __asm__ volatile("" ::: "memory");  // and the controller's membarrier(2): see sampling_control.cpp
  // First, so that a nudge that comes later is not lost.
  if (current.state == &self && current.cell_mask != kCellMask) [[unlikely]]
    follow_nudge(self);
  __asm__ volatile("" ::: "memory");
  if (self.clock.is_sampling() != period_is_open.load(std::memory_order_relaxed)) [[unlikely]]
    follow_period(self);
  if (self.unseen_locks.count != 0) [[unlikely]]
    adopt_unseen_locks(self);
  if (own.has_unnamed_locks && current.state == &self && peek(current.runs_unchecked) == 0) [[unlikely]]
    name_held_locks(self);
  choose_whether_timed(own);
}

void end_sampling_event(ThreadState& self) {
  ThreadSampling& own = self.sampling;
  if (own.depth == 1 && own.timed_since != 0) {
    const std::uint64_t ticks = read_ticks() - own.timed_since;
    const std::uint64_t most = self.clock.is_sampling() ? kLongestInPeriod : kLongestEvent;
    put(own.cost, own.cost + ((ticks < most ? ticks : most) << kTimedShift));
  }
  __asm__ volatile("" ::: "memory");
  --own.depth;
}

void LongSamplingEvent::begin() {
  self_.sampling.timed_since = 0;
  since_ = own_time();
}

void LongSamplingEvent::end() { put(self_.sampling.long_cost, self_.sampling.long_cost + own_time() - since_); }

void end_sampling_of(ThreadState& self) {
  if (!samples) return;
  put(self.sampling.final_time, own_time());
  if (current.state == &self) put(self.sampling.final_progress, current.progress);
  if (!self.clock.is_sampling()) return;
  SpinHolder hold(self.clock_lock);
  self.clock.leave_sampling();
}

void reset_period() {
  const bool samples_all = options().rate >= static_cast<std::int64_t>(raw_report::kWholeRate) && options().budget == 0;
  period_is_open.store(samples_all, std::memory_order_relaxed);
  quiet_time.store(0, std::memory_order_relaxed);
}

void set_up_sampling() {
  samples = options().rate >= 0 || options().budget > 0;
  if (!samples) return;
  reset_period();
  begin_unchecked_code(!period_is_open.load(std::memory_order_relaxed));
  raise_update_mode(UpdateMode::kShared);
  // What a nudged thread looks at: no address of the program's.
  for (Address word = 0; word < 16 * 8; word += 8) {
    for (std::atomic<std::uint64_t>& entry : cell_of(word)->entries) {
      entry.store(kPlaceholder.bits(), std::memory_order_relaxed);
    }
  }
}

}  // namespace deadheat::runtime
