// SPDX-License-Identifier: Apache-2.0
#include "core/work_periods.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/random.h"

namespace deadheat {
namespace {

using Work = WorkPeriods::Work;

// A process that is looked at every so often, whose threads notice a change late.
struct Process {
  WorkPeriods periods;
  Random random;
  std::uint64_t step;  // at most, between two looks
  std::uint64_t late;  // at most, of a thread
  Work work = {};
  bool is_sampling = false;

  void run(std::uint64_t until) {
    while (work.all < until) {
      const std::uint64_t done = 1 + random.below(step);
      const std::uint64_t before = is_sampling == periods.is_open() ? 0 : std::min(done, random.below(late + 1));
      work.sampled += is_sampling ? before : 0;
      is_sampling = periods.is_open();
      work.sampled += is_sampling ? done - before : 0;
      work.all += done;
      periods.advance(work);
    }
  }
  [[nodiscard]] double rate() const { return static_cast<double>(work.sampled) / static_cast<double>(work.all); }
};

Process process(double rate, std::uint64_t period, std::uint64_t seed, std::uint64_t step = 1, std::uint64_t late = 0) {
  return {WorkPeriods(rate, period, seed), Random(seed + 1), step, late};
}

TEST(WorkPeriods, NothingAtZeroAndEverythingAtOne) {
  Process none = process(0, 100, 1);
  none.run(100'000);
  EXPECT_EQ(none.work.sampled, 0U);
  EXPECT_EQ(none.periods.count(), 0U);
  Process all = process(1, 100, 1);
  all.is_sampling = all.periods.is_open();
  all.run(100'000);
  EXPECT_EQ(all.work.sampled, all.work.all);
  EXPECT_EQ(all.periods.next_change(), WorkPeriods::kNever);
}

// A loop that tells how far it has come when it is left: it is as likely to be sampled in its middle as anywhere.
TEST(WorkPeriods, APeriodOpensWhileWhatIsDoneIsNotToldYet) {
  constexpr std::uint64_t kLoop = 1000;  // as long as a cycle
  std::uint64_t opened_in_half[2] = {};
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    WorkPeriods periods(0.1, 100, seed);
    Work told;
    for (std::uint64_t done = 1; done <= kLoop; ++done) {
      if (periods.is_open()) break;
      periods.advance(told, done);
      if (!periods.is_open()) continue;
      ++opened_in_half[done > kLoop / 2 ? 1 : 0];
      told.all = done;  // it is left
      periods.opened(told);
      EXPECT_GT(periods.next_change(), done);
      EXPECT_LE(periods.next_change(), done + 100);
    }
  }
  EXPECT_GT(opened_in_half[0], 130U);
  EXPECT_GT(opened_in_half[1], 130U);
}

TEST(WorkPeriods, WhatWasDoneBeforeTheLengthWasKnownIsMadeUpFor) {
  double rates = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Process guessed = process(0.1, 1'000'000, seed);
    guessed.run(200);
    guessed.periods.set_length(100);
    guessed.periods.begin_again(guessed.work);
    guessed.run(4000);
    rates += guessed.rate() / 300;
  }
  EXPECT_NEAR(rates, 0.1, 0.005);
}

// As in code that shows no progress: there the next period would be cut as well.
TEST(WorkPeriods, APeriodThatIsCutShortIsNotMadeUpForAtOnce) {
  int opened_again = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Process cut = process(0.1, 100, seed);
    std::uint64_t until = 5000;
    while (!cut.periods.is_open()) cut.run(++until);
    cut.run(until + 10);
    if (!cut.periods.is_open()) continue;  // the rest of one
    cut.periods.cut_short(cut.work);
    cut.periods.advance(cut.work);
    opened_again += cut.periods.is_open() ? 1 : 0;
  }
  EXPECT_LE(opened_again, 40);
  Process all = process(1, 100, 1);
  all.periods.cut_short(all.work);
  EXPECT_TRUE(all.periods.is_open());
}

TEST(WorkPeriods, TheShareIsTheRateHoweverLateThreadsNotice) {
  for (const double rate : {0.01, 0.03, 0.1, 0.25, 0.5}) {
    for (const std::uint64_t late : {0, 50, 400}) {
      for (const std::uint64_t step : {1, 30, 300}) {
        SCOPED_TRACE(testing::Message() << "rate " << rate << ", late " << late << ", step " << step);
        Process one = process(rate, 100, 7, step, late);
        one.run(5'000'000);
        EXPECT_NEAR(one.rate(), rate, rate * 0.02);
      }
    }
  }
}

// A loop that began before the period tells what it did then while the period is open.
TEST(WorkPeriods, APeriodEndsByWhatIsSampledHoweverMuchElseIsTold) {
  Process one = process(0.1, 100, 5);
  std::uint64_t until = 5000;
  while (!one.periods.is_open()) one.run(++until);
  const std::uint64_t length = one.periods.open_length();
  one.work.all += 1000;
  one.periods.advance(one.work);
  EXPECT_TRUE(one.periods.is_open());
  const std::uint64_t before = one.work.sampled;
  const std::uint64_t begin = one.periods.next_change() - length;
  // The next one may begin at once.
  while (one.periods.is_open() && one.periods.next_change() - length == begin) one.run(one.work.all + 1);
  EXPECT_EQ(one.work.sampled - before, length);
}

TEST(WorkPeriods, WhoIsBehindHasLongerPeriodsButNotWithoutLimit) {
  for (const std::uint64_t missed : {3'000, 100'000}) {
    Process one = process(0.1, 100, 9);
    one.run(10'000);
    while (one.periods.is_open()) one.run(one.work.all + 1);
    one.work.all += missed;  // nobody looked
    one.periods.advance(one.work);
    while (!one.periods.is_open() || one.periods.open_length() <= 100) one.run(one.work.all + 1);
    if (missed == 3'000) {
      EXPECT_NEAR(static_cast<double>(one.periods.open_length()), 400, 150);
    } else {
      EXPECT_EQ(one.periods.open_length(), 800U);
    }
  }
}

TEST(WorkPeriods, AfterALongPauseTheShareIsMadeUpFor) {
  Process one = process(0.1, 100, 3, 10);
  one.run(100'000);
  one.work.all += 50'000;  // nobody looked
  one.periods.advance(one.work);
  one.run(2'000'000);
  EXPECT_NEAR(one.rate(), 0.1, 0.002);
}

TEST(WorkPeriods, EveryPlaceIsEquallyLikely) {
  constexpr std::uint64_t kPlaces = 400;  // two cycles of 200
  constexpr int kSeeds = 20'000;
  std::vector<int> sampled(kPlaces);
  for (int seed = 1; seed <= kSeeds; ++seed) {
    WorkPeriods periods(0.1, 20, static_cast<std::uint64_t>(seed));
    Work work;
    for (std::uint64_t place = 0; place < kPlaces; ++place) {
      sampled[place] += periods.is_open() ? 1 : 0;
      work.sampled += periods.is_open() ? 1 : 0;
      ++work.all;
      periods.advance(work);
    }
  }
  // Three standard deviations are 0.0064; of 400 places one or the other is beyond.
  for (std::uint64_t place = 0; place < kPlaces; ++place) {
    EXPECT_NEAR(static_cast<double>(sampled[place]) / kSeeds, 0.1, 0.01) << "at " << place;
  }
}

TEST(WorkPeriods, ANewRateHoldsFromThenOn) {
  Process one = process(0.5, 100, 5, 10);
  one.run(200'000);
  const Work before = one.work;
  one.periods.set_rate(0.02, one.work);
  one.run(2'200'000);
  const double since =
      static_cast<double>(one.work.sampled - before.sampled) / static_cast<double>(one.work.all - before.all);
  EXPECT_NEAR(since, 0.02, 0.001);
  EXPECT_EQ(one.periods.rate(), 0.02);
}

TEST(WorkPeriods, OtherLengthsHoldFromTheNextCycleOnAndLeaveTheShare) {
  Process one = process(0.1, 100, 9, 10);
  one.run(100'000);
  const std::uint64_t shorter = one.periods.count();
  one.periods.set_length(1000);
  one.run(1'100'000);
  EXPECT_NEAR(static_cast<double>(shorter), 100, 20);
  EXPECT_NEAR(static_cast<double>(one.periods.count() - shorter), 100, 20);
  EXPECT_NEAR(one.rate(), 0.1, 0.002);
}

// A program begins slowly, so its periods are taken to be ten times too short at first, and a run is over before the
// first cycle is: in a share of the runs that is the rate, at any place alike, something is sampled.
TEST(WorkPeriods, TheFirstPeriodKeepsItsPlaceWhenItsLengthBecomesKnown) {
  constexpr int kSeeds = 20'000;
  constexpr std::uint64_t kRun = 600;  // of a cycle of 1000
  int sampled[2] = {};
  for (int seed = 1; seed <= kSeeds; ++seed) {
    WorkPeriods periods(0.05, 5, static_cast<std::uint64_t>(seed));
    Work work;
    for (std::uint64_t place = 0; place < kRun; ++place) {
      if (place == 5) periods.set_length(50);
      if (place == kRun / 3 || place == kRun - 1) sampled[place == kRun - 1 ? 1 : 0] += periods.is_open() ? 1 : 0;
      work.sampled += periods.is_open() ? 1 : 0;
      ++work.all;
      periods.advance(work);
    }
  }
  for (const int count : sampled) EXPECT_NEAR(static_cast<double>(count) / kSeeds, 0.05, 0.008);
}

TEST(WorkPeriods, SeedsDecide) {
  Process one = process(0.03, 100, 11, 1);
  Process same = process(0.03, 100, 11, 1);
  Process other = process(0.03, 100, 12, 1);
  for (int step = 1; step < 50; ++step) {
    const auto until = static_cast<std::uint64_t>(step) * 1000;
    for (Process* each : {&one, &same, &other}) each->run(until);
    EXPECT_EQ(one.work.sampled, same.work.sampled);
  }
  EXPECT_NE(one.periods.next_change(), other.periods.next_change());
}

}  // namespace
}  // namespace deadheat
