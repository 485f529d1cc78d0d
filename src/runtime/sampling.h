// SPDX-License-Identifier: Apache-2.0
// Sampling online: what a thread does at the beginning and the end of periods
// (core/pacer.h). When they begin and end is sampling_control.h.
//
// Whether a period is open is one flag for all threads. Each joins and leaves for
// itself, at its next event: synchronisation, memory, an access that does not pass
// the inline check. A thread whose accesses all pass would not come here for a long
// time, so it is nudged: its ThreadLocal::cell_mask becomes 0, which sends all its
// checks to the cell of address 0, where an entry is that no check accepts.
//
// What the detector costs is measured, because work is what is left of processor
// time without it: in periods all events are timed, outside one in sixteen, at random;
// and those that go through much memory, by the thread's own clock.
#pragma once

#include <x86intrin.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/cell_entry.h"
#include "runtime/system.h"
#include "runtime/thread_state.h"

namespace deadheat::runtime {

// Constant once the runtime has started.
[[gnu::visibility("hidden")]] extern bool samples;
[[gnu::visibility("hidden")]] extern std::atomic<bool> period_is_open;
// Not 0 between two periods, from when nobody records any more until the next one is about to open: then
// records only go. Another number each time. What was checked against all of them in this time need not
// be checked again. Written by the controller.
[[gnu::visibility("hidden")]] extern std::atomic<std::uint64_t> quiet_time;

// Of one thread. Written by the thread itself, read by the controller.
struct ThreadSampling {
  std::uint32_t depth = 0;              // of events; not 0: the thread may be recording something
  bool has_unnamed_locks = false;       // taken while nothing was recorded (on_sync.cpp)
  std::uint64_t unchecked_changes = 0;  // (unchecked_code.h) when the latest event began outside of a period
  std::uint64_t random = 0;
  std::uint64_t timed_since = 0;  // of the current event; 0: not timed
  std::uint64_t cost = 0;         // ticks of the processor that events took, from those that were timed
  std::uint64_t long_cost = 0;    // nanoseconds that long events took, each timed by itself
  // By direction: reads, writes.
  std::uint64_t sampled_accesses[2] = {};
  std::uint64_t checked_accesses[2] = {};  // not sampled, of memory with a record
  std::uint64_t is_in_period = 0;
  std::uint64_t final_time = 0;  // all processor time of a thread that has ended
  std::uint64_t final_progress = 0;
};

// The controller reads what threads write, without order.
template <class T>
[[nodiscard]] T peek(const T& value) {
  return __atomic_load_n(&value, __ATOMIC_RELAXED);
}

// What a thread that does not sample has in ThreadLocal in the place of its epoch; see
// unsampled.h.
inline constexpr std::uint64_t kNoRecord = CellEntry::kMaskBits;
inline constexpr std::uint64_t kNoSecondRecord = std::uint64_t{1} << CellEntry::kEpochShift;

// A thread that does not sample and has not been nudged.
[[nodiscard, gnu::always_inline]] inline bool is_left_alone() {
  return current.epoch_bits == kNoRecord && current.cell_mask != 0 && current.inside == 0;
}
// A thread that does not sample and has no reason to.
[[nodiscard, gnu::always_inline]] inline bool is_outside_of_periods() {
  return current.epoch_bits == kNoRecord && current.cell_mask != 0 && !period_is_open.load(std::memory_order_relaxed);
}

void begin_sampling_event(ThreadState& self);
void end_sampling_event(ThreadState& self);
// One event in 16.
inline constexpr int kTimedShift = 4;
[[gnu::always_inline]] inline void choose_whether_timed(ThreadSampling& own) {
  own.random = own.random * 0x5851f42d4c957f2dULL + 0x14057b7ef767814fULL;
  own.timed_since = (own.random >> (64 - kTimedShift)) == 0 ? read_ticks() : 0;
}

// An event of the thread, inside a RuntimeScope. Begins before it publishes or records
// anything, and before it takes a lock.
class SamplingEvent {
 public:
  [[gnu::always_inline]] explicit SamplingEvent(ThreadState& self) : self_(self) {
    if (samples) [[unlikely]]
      begin_sampling_event(self_);
  }
  [[gnu::always_inline]] ~SamplingEvent() {
    if (samples) [[unlikely]]
      end_sampling_event(self_);
  }
  SamplingEvent(const SamplingEvent&) = delete;
  SamplingEvent& operator=(const SamplingEvent&) = delete;

 private:
  ThreadState& self_;
};

// The event of the current thread goes through so many bytes: if they are many, it is
// timed by itself.
class LongSamplingEvent {
 public:
  LongSamplingEvent(ThreadState& self, std::size_t size) : self_(self), is_long_(samples && size >= kLong) {
    if (is_long_) begin();
  }
  ~LongSamplingEvent() {
    if (is_long_) end();
  }
  LongSamplingEvent(const LongSamplingEvent&) = delete;
  LongSamplingEvent& operator=(const LongSamplingEvent&) = delete;

 private:
  static constexpr std::size_t kLong = 8192;  // bytes; takes much longer than to ask for the time
  void begin();
  void end();

  ThreadState& self_;
  bool is_long_;
  std::uint64_t since_ = 0;
};

// As long as nobody opens and closes periods: open where all is to be sampled.
void reset_period();
// At the start: the process samples, or not. Before there are threads.
void set_up_sampling();
// The thread ends.
void end_sampling_of(ThreadState& self);

}  // namespace deadheat::runtime
