// SPDX-License-Identifier: Apache-2.0
// WorkPeriods: when a running process samples, from a rate and a seed.
//
// As in sampling_periods.h, work is divided into cycles of period / rate, and in each
// cycle one period is open, which begins at a random place and goes on at the
// cycle's beginning if it would reach beyond its end. But a process cannot be stopped
// at an exact place: threads join a period a little late and leave it late. So what
// was really sampled is measured: a period ends when as much was sampled, however much else was
// done meanwhile, and the cycle ends where that is the wanted share of all work. The sum
// is right whatever single periods were like.
//
// Work is any measure of progress that does not count the detector's own and never shrinks.
#pragma once

#include <cstdint>

#include "base/random.h"

namespace deadheat {

class WorkPeriods {
 public:
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};

  struct Work {
    std::uint64_t all = 0;
    std::uint64_t sampled = 0;  // of it
  };

  // The rate is from 0 to 1, the period at least 1.
  WorkPeriods(double rate, std::uint64_t period, std::uint64_t seed) : random_(seed), next_length_(period) {
    set_rate(rate, {});
  }

  [[nodiscard]] double rate() const { return rate_; }
  // How long periods are, from the next cycle on: at least 1. The first cycle is made again as long as its period has
  // not begun, for what is known of a program then is little: the period keeps its place in the cycle.
  void set_length(std::uint64_t period) {
    next_length_ = period == 0 ? 1 : period;
    if (count_ == 0 && part_ == Part::kBefore && next_change_ != kNever) stretch_cycle();
  }
  [[nodiscard]] bool is_open() const { return is_open_; }
  // Periods that have been opened.
  [[nodiscard]] std::uint64_t count() const { return count_; }
  // How much is to be sampled in the period that is open.
  [[nodiscard]] std::uint64_t open_length() const { return open_length_; }
  // The work at which is_open() may change next; an open period goes on until as much was sampled.
  [[nodiscard]] std::uint64_t next_change() const { return next_change_; }

  // What was sampled so far counts no more: the new rate holds from here on.
  void set_rate(double rate, Work now) {
    rate_ = rate;
    start_ = now;
    begin_cycle(now.all, now.sampled);
    advance(now);
  }

  // So much has been done by now. `expected` is what is likely to have been done, if some of it is told late: a period
  // opens by that, and ends by what is known.
  void advance(Work now, std::uint64_t expected = 0) {
    while (is_time_for_change(now, expected)) take_next_step(now);
  }

  // What was told late has been told, and what is done from here on is sampled: for as long as periods are by now.
  void opened(Work now) {
    if (!is_open_ || next_change_ == kNever) return;
    const double part = static_cast<double>(open_length_) / static_cast<double>(period_);
    const auto length = static_cast<std::uint64_t>(part * static_cast<double>(next_length_));
    next_change_ = now.all + length;
    open_until_ = now.sampled + length;
  }

  // The first cycle again, with another length of periods: a guess of it was wrong.
  void begin_again(Work now) {
    begin_cycle(start_.all, now.sampled);
    advance(now);
  }

  // The period that is open ends before its work is done. What was not sampled of it is not made up for: a new cycle
  // begins.
  void cut_short(Work now) {
    if (is_open_ && next_change_ != kNever) set_rate(rate_, now);
  }

 private:
  static constexpr std::uint64_t kLongestInPeriods = 8;

  // The parts of a cycle: the end of a period that is cut in two, the time before it,
  // the period, the time after it.
  enum class Part : std::uint8_t { kRest, kBefore, kPeriod, kAfter };

  [[nodiscard]] bool is_time_for_change(Work now, std::uint64_t expected) const {
    if (next_change_ == kNever) return false;
    if (is_open_) return now.sampled >= open_until_;
    return now.all >= next_change_ || expected >= next_change_;
  }

  void take_length() {
    period_ = next_length_;
    const double length = static_cast<double>(period_) / rate_;
    cycle_length_ = length < 0x1.0p62 ? static_cast<std::uint64_t>(length) : std::uint64_t{1} << 62;
  }

  void stretch_cycle() {
    const double place = static_cast<double>(period_begin_) / static_cast<double>(cycle_length_);
    take_length();
    period_begin_ = static_cast<std::uint64_t>(place * static_cast<double>(cycle_length_));
    next_change_ = cycle_begin_ + period_begin_;
  }

  void begin_cycle(std::uint64_t at, std::uint64_t sampled) {
    if (rate_ <= 0 || rate_ >= 1) {
      open(rate_ >= 1);
      next_change_ = kNever;
      return;
    }
    take_length();
    cycle_begin_ = at;
    period_begin_ = random_.below(cycle_length_);
    part_ = Part::kRest;
    const std::uint64_t period_end = period_begin_ + period_;
    open(period_end > cycle_length_);
    open_length_ = period_end > cycle_length_ ? period_end - cycle_length_ : 0;
    next_change_ = cycle_begin_ + open_length_;
    open_until_ = sampled + open_length_;
  }

  void take_next_step(Work now) {
    switch (part_) {
      case Part::kRest:
        return enter(Part::kBefore, cycle_begin_ + period_begin_);
      case Part::kBefore: {
        const std::uint64_t left = cycle_length_ - period_begin_;
        open_length_ = at_least_due(period_ < left ? period_ : left, now);
        open_until_ = now.sampled + open_length_;
        return enter(Part::kPeriod, now.all + open_length_);
      }
      case Part::kPeriod:
        return enter(Part::kAfter, end_of_cycle(now));
      case Part::kAfter:
        // Where it should have begun: who comes late begins the next period sooner.
        return begin_cycle(next_change_, now.sampled);
    }
  }
  void enter(Part part, std::uint64_t until) {
    part_ = part;
    open(part == Part::kPeriod);
    next_change_ = until;
  }
  void open(bool is_open) {
    if (is_open && !is_open_) ++count_;
    is_open_ = is_open;
  }

  // As long as it takes to have sampled the share of all work by the end of the cycle: who is behind, because periods
  // open late, does not get on by opening them more often.
  [[nodiscard]] std::uint64_t at_least_due(std::uint64_t length, Work now) const {
    const std::uint64_t cycle_end = cycle_begin_ + cycle_length_;
    const std::uint64_t all = (now.all > cycle_end ? now.all : cycle_end) - start_.all;
    const auto wanted = static_cast<std::uint64_t>(static_cast<double>(all) * rate_);
    const std::uint64_t sampled = now.sampled - start_.sampled;
    const std::uint64_t due = wanted > sampled ? wanted - sampled : 0;
    const std::uint64_t most = kLongestInPeriods * period_;
    if (due <= length) return length;
    return due < most ? due : most;
  }

  // Where what was sampled is its share of all.
  [[nodiscard]] std::uint64_t end_of_cycle(Work now) const {
    const std::uint64_t sampled = now.sampled > start_.sampled ? now.sampled - start_.sampled : 0;
    const double share = static_cast<double>(sampled) / rate_;
    return start_.all + static_cast<std::uint64_t>(share);
  }

  Random random_;
  std::uint64_t next_length_;
  std::uint64_t period_ = 1;
  double rate_ = 0;
  Work start_;  // when the rate was set
  Part part_ = Part::kRest;
  bool is_open_ = false;
  std::uint64_t count_ = 0;
  std::uint64_t cycle_begin_ = 0;
  std::uint64_t cycle_length_ = 0;
  std::uint64_t period_begin_ = 0;  // in the cycle
  std::uint64_t open_length_ = 0;   // of the part of it that is open
  std::uint64_t open_until_ = 0;    // of what is sampled
  std::uint64_t next_change_ = kNever;
};

}  // namespace deadheat
