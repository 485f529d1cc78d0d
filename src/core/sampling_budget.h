// SPDX-License-Identifier: Apache-2.0
// SamplingBudget: the rate at which sampling costs a given share of processor time.
//
// What sampling costs cannot be measured where it arises. Part of it are events that
// can be timed; but records slow the program down after their period, too, and so do
// caches and locks that are shared with the detector. So the run is cut into steps: in
// most of them the program is sampled, in every fourth it is not, and how much processor
// time the program needs for the same progress is compared. What counts as progress: ThreadLocal::progress of the
// runtime. A program that shows little of it is judged by the timed events alone; of two answers the dearer one counts.
//
// Cost is proportional to the rate, so all steps say something of the same number, the cost
// per rate, whatever their rates were. Older steps count less: load changes.
//
// Records of one step are still there in the next ones. A step without sampling is therefore
// not quite free, and the cost is underestimated by the share of it that comes later than
// a step. What all steps together took, by the pace of code that nothing is asked of, has no such gap, but is wrong
// where the program's pace changes. So it has no part in how much a rate costs; only when it is above the budget, less
// is aimed at.
#pragma once

#include <cstdint>

namespace deadheat {

class SamplingBudget {
 public:
  // What was done in a step: processor time, what timed events took of it, both in
  // nanoseconds; how far it got; and the share of the work that was sampled.
  struct Step {
    double processor = 0;
    double cost = 0;
    double progress = 0;
    double rate = 0;
  };

  // Shares, from 0 to 1. The rate is at most `most`.
  void begin(double budget, double most) {
    *this = SamplingBudget{};
    budget_ = budget;
    most_ = most;
    rate_ = limited(kFirstRate, kLeastRate, most);
  }

  // The rate of the step that goes on.
  [[nodiscard]] double rate() const { return is_idle() ? 0 : rate_; }
  // What it is between steps without sampling.
  [[nodiscard]] double usual_rate() const { return rate_; }

  // `so_far`: the share of processor time that sampling took since the beginning, by the program's pace.
  void end_step(const Step& step, double so_far) {
    const double above = so_far > budget_ ? budget_ / so_far : 1;
    aim_ = limited(budget_ * above * above, budget_ / kLargestStepDown, budget_);
    Sum& sum = is_idle() ? idle_ : sampled_;
    sum.add(step);
    if (!is_idle()) rate_ = next_rate();
    ++count_;
  }

 private:
  static constexpr double kFirstRate = 0.002;
  static constexpr double kLeastRate = 0.0001;
  static constexpr double kMemory = 0.85;         // what a step counts at the next one
  static constexpr double kEnough = 1 / 2'500.0;  // per nanosecond
  static constexpr double kLargestStepUp = 1.5;
  static constexpr double kLargestStepDown = 4;

  struct Sum {
    Step steps;

    void add(const Step& step) {
      steps.processor = steps.processor * kMemory + step.processor;
      steps.cost = steps.cost * kMemory + step.cost;
      steps.progress = steps.progress * kMemory + step.progress;
      steps.rate = steps.rate * kMemory + step.rate * step.processor;  // weighted
    }
    [[nodiscard]] bool has_progress() const { return steps.progress > kEnough * steps.processor; }
    [[nodiscard]] double cost() const { return steps.processor <= 0 ? 0 : steps.cost / steps.processor; }
    [[nodiscard]] double rate() const { return steps.processor <= 0 ? 0 : steps.rate / steps.processor; }
    [[nodiscard]] double time_of_progress() const { return steps.processor / steps.progress; }
  };

  // The first of four.
  [[nodiscard]] bool is_idle() const { return count_ % 4 == 0; }

  // The share of processor time that sampling took.
  [[nodiscard]] double cost_of_sampling() const {
    const double timed = sampled_.cost() - idle_.cost();
    if (!sampled_.has_progress() || !idle_.has_progress()) return timed;
    const double slower = 1 - idle_.time_of_progress() / sampled_.time_of_progress();
    return slower > timed ? slower : timed;
  }

  [[nodiscard]] double next_rate() const {
    const double cost = cost_of_sampling();
    const double rate = cost > 0 ? aim_ * sampled_.rate() / cost : most_;
    return limited(limited(rate, rate_ / kLargestStepDown, rate_ * kLargestStepUp), kLeastRate, most_);
  }

  [[nodiscard]] static double limited(double value, double least, double most) {
    return value > most ? most : value < least ? least : value;
  }

  double budget_ = 0;
  double aim_ = 0;
  double most_ = 1;
  double rate_ = 0;
  std::uint64_t count_ = 0;
  Sum idle_;
  Sum sampled_;
};

}  // namespace deadheat
