// SPDX-License-Identifier: Apache-2.0
// PACER: FastTrack at a fraction of its cost, with a guarantee. (Bond, Coons,
// McKinley, PLDI 2010; rules, tables and algorithms below are the paper's.)
//
// Problem. Recording a proportion r of all accesses finds a race only if both
// accesses are recorded: r * r. Skipping synchronisation as well makes false alarms.
// Method. A race is found if its *first* access is recorded, whoever makes the
// second. So each race is found with probability r: what the threads do while they
// sample is recorded; every later access is checked against what is recorded, and
// removes what it makes redundant. Most memory has no record then, and an access
// to it costs a lookup.
//
//   period      a stretch of one thread's execution in which it samples.
//   sampled     of an access: made in a period of its thread.
//   shortest    of a race (a, b): between a and b there is no access that conflicts
//               with b and does not happen before b. It is the race of b with the
//               last access that it races with.
//
// Guaranteed (1): a byte with a sampled shortest race (a, b) has been reported when
// b is done. (2): every report is a race. As with FastTrack, (1) is about the
// first race of a byte: what comes after a report can go unnoticed.
//
//   where                              what
//   access_rules.h                     Table 4: both columns
//   pacer_clock.h, version_epoch.h,    Tables 5 to 7: clocks that stand still
//     shared_clock.h                     outside sampling, O(1) synchronisation
//   byte_shadow.h, revisit()           no metadata where nothing is recorded
//   sampling_periods.h                 when to sample
//
// The paper stops all threads to begin and end a period. Here each thread enters
// and leaves for itself, at its next event, by beginning a new epoch. Why this is
// enough:
//
// Invariant. While t samples, no clock but its own has C[t] >= C_t[t].
//   Entering: nobody is ever ahead of t in its own component, and t increments it.
//   Kept: C_t gets into other clocks by a release, fork or fence of t only, and
//   while it samples t increments right after each. (A joined thread is at its end.)
//
// Lemma. If t makes the sampled access a in the epoch c@t, and later u has
// C_u[t] >= c, then a happens before what u does. For by the invariant nobody had
// c when a was made, so c came out of t by a release after a, and went from there to
// u along happens-before. Conversely a chain of synchronisation always carries
// clocks along, whoever samples (joins are skipped only if they would change
// nothing), so what happens before u is in C_u. Hence the test "epoch <= C_u" is
// right for every recorded access, which is (2).
//
// (1). Let (a, b) be a sampled shortest race, t and u their threads.
//   a is recorded, or an access of t from the same epoch stands for it, which is as
//   good. Suppose that until b the byte has had no report.
//   It is still there at b. A record goes when an ordered access e subsumes it, or a
//   plain write e clears everything. If a did not happen before e, the check of e
//   reported it. If it did: all that conflicts with a conflicts with e, so b does,
//   and as (a, b) is shortest, e happens before b; then so does a, and there is no
//   race. It makes no difference whether e is sampled.
//   b is checked, unless by the same-epoch rule u has a record d of its current epoch
//   that subsumes b. u was sampling at d, and b is in the same epoch; so u has
//   released nothing in between: d happens before nothing that others did until b.
//   Then a and d conflict and are concurrent, and the later of the two was reported.
//
// The last step is why a thread must begin a new epoch when it *leaves* as well. Else:
// u samples and writes x (d), leaves, releases m (no increment: not sampling); t, which
// samples, acquires m and reads x (a); u writes x (b), in the epoch of d, and the
// same-epoch rule skips it, although a and b race. The paper's global periods hide
// this case, because there t would not sample either.
//
// A running process may drop records before they are redundant (a horizon, runtime/
// sampling_control.cpp). Then (1) holds for races (a, b) with b before that; (2) is not
// touched, for without a record there is no report.
//
// Cost. Outside sampling, clocks do not advance, so after a while there is no news:
// a release shares the thread's clock, an acquire compares one version. In a period
// it is FastTrack, plus a copy of the clock per thread at either end. Memory
// follows what is recorded and not yet redundant.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/detector.h"
#include "core/happens_before.h"
#include "core/pacer_clock.h"
#include "core/sampling_periods.h"
#include "model/event.h"
#include "model/finding.h"

namespace deadheat {

// When threads sample, for DetectorEngine, and the paper's Table 3.
class PacerSampling {
 public:
  using Order = BasicHappensBefore<PacerClocks<>>;
  using Thread = Order::Thread;
  static constexpr bool kAtTimes = true;

  explicit PacerSampling(const DetectorOptions& options) {
    if (options.sampling) periods_.emplace(*options.sampling);
  }

  // Before each event of the thread: it joins the period that is open, or leaves
  // the one that has ended.
  void follow(Thread& self, EventKind event) const {
    const bool shall_sample = is_in_period(self, event);
    if (self.is_sampling() == shall_sample) [[likely]]
      return;
    if (shall_sample) {
      self.enter_sampling();
    } else {
      self.leave_sampling();
    }
  }

  // An access is about to be made. Whether it is recorded.
  [[nodiscard]] bool takes(const Thread& self, AccessKind kind) {
    ++(self.is_sampling() ? sampled_ : unsampled_)[raw(is_write(kind) ? Direction::kWrite : Direction::kRead)];
    if (periods_) periods_->advance();
    return self.is_sampling();
  }
  // It was not, and there was something to check.
  void count_slow(AccessKind kind) { ++slow_[raw(is_write(kind) ? Direction::kWrite : Direction::kRead)]; }

  [[nodiscard]] SampledShare share() const {
    const std::uint64_t sampled = sampled_[0] + sampled_[1];
    return {sampled, sampled + unsampled_[0] + unsampled_[1]};
  }

  [[nodiscard]] std::vector<Counter> counters(const Order& order) const {
    const ClockCounters& clocks = order.common().counters;
    return {
        {"sampling slow joins", clocks.sampling.slow_joins},
        {"sampling fast joins", clocks.sampling.fast_joins},
        {"sampling deep copies", clocks.sampling.deep_copies},
        {"sampling shallow copies", clocks.sampling.shallow_copies},
        {"sampling reads", sampled_[0]},
        {"sampling writes", sampled_[1]},
        {"non-sampling slow joins", clocks.outside.slow_joins},
        {"non-sampling fast joins", clocks.outside.fast_joins},
        {"non-sampling deep copies", clocks.outside.deep_copies},
        {"non-sampling shallow copies", clocks.outside.shallow_copies},
        {"non-sampling slow reads", slow_[0]},
        {"non-sampling fast reads", unsampled_[0] - slow_[0]},
        {"non-sampling slow writes", slow_[1]},
        {"non-sampling fast writes", unsampled_[1] - slow_[1]},
    };
  }

 private:
  enum class Direction : std::uint8_t { kRead, kWrite };

  [[nodiscard]] bool is_in_period(const Thread& self, EventKind event) const {
    if (periods_) return periods_->is_open();
    if (event == EventKind::kSamplingBegin) return true;
    return self.is_sampling() && event != EventKind::kSamplingEnd;
  }

  std::optional<SamplingPeriods> periods_;
  std::uint64_t sampled_[2] = {};  // by Direction
  std::uint64_t unsampled_[2] = {};
  std::uint64_t slow_[2] = {};  // of unsampled_
};

}  // namespace deadheat
