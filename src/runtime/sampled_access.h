// SPDX-License-Identifier: Apache-2.0
// The usual access of a thread in a sampling period: it has joined the period, nothing else is to be done
// first, and the word's cell has room. All else is check_access().
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/access_check.h"
#include "runtime/origins.h"
#include "runtime/sampling.h"
#include "runtime/settle.h"
#include "runtime/shadow_pages.h"
#include "runtime/thread_registry.h"

namespace deadheat::runtime {

// A word is about to get an entry.
[[gnu::always_inline]] inline void note_sampled(ThreadState& self, AccessKind kind, Address word) {
  note_record(word);
  ++self.sampling.sampled_accesses[is_write(kind) ? 1 : 0];
}

// A SamplingEvent of the current thread that need not follow a period, nor adopt locks. If not is_on(), there is none.
class PeriodEvent {
 public:
  [[gnu::always_inline]] explicit PeriodEvent(ThreadState& self) : self_(self) {
    ThreadSampling& own = self.sampling;
    if (own.depth != 0 || !self.clock.is_sampling() || current.cell_mask != kCellMask) return;
    if (self.unseen_locks.count != 0 || own.has_unnamed_locks) return;
    own.depth = 1;
    __asm__ volatile("" ::: "memory");  // as in begin_sampling_event()
    is_on_ = period_is_open.load(std::memory_order_relaxed);
    if (is_on_) {
      choose_whether_timed(own);
    } else {
      own.depth = 0;
    }
  }
  [[gnu::always_inline]] ~PeriodEvent() {
    if (is_on_) end_sampling_event(self_);
  }
  PeriodEvent(const PeriodEvent&) = delete;
  PeriodEvent& operator=(const PeriodEvent&) = delete;

  [[nodiscard]] bool is_on() const { return is_on_; }

 private:
  ThreadState& self_;
  bool is_on_ = false;
};

// Inside a RuntimeScope; the access fits_words(). False: it is another case, and what was done may be done again.
template <AccessKind kKind, std::size_t kSize>
[[nodiscard, gnu::always_inline]] inline bool record_quickly(ThreadState& self, Address address,
                                                             std::uint64_t code_and_shape) {
  if (self.origins == nullptr || self.ignore.ignores(kKind)) return false;
  const OriginId origin = cached_in(self.origins, cache_key(code_and_shape));
  if (origin == OriginId::kUnknown) return false;
  const PeriodEvent event(self);
  if (!event.is_on()) return false;
  const ByteMask mask = bytes_of_access<kSize>(address);
  const auto own = CellEntry::from_bits(current.epoch_bits | CellEntry(ShortEpoch{}, mask, kKind, origin).bits());
  for (Address word = address & ~Address{7}; word < address + kSize; word += 8) {
    note_sampled(self, kKind, word);
    const Settled settled = settle_in_loop<kKind>(*cell_of(word), own);
    if (settled == Settled::kOtherChanged) [[unlikely]]
      look_at_changed(word, own);
    if (settled == Settled::kNo) return false;
  }
  return true;
}

}  // namespace deadheat::runtime
