// SPDX-License-Identifier: Apache-2.0
// PACER as a detector: what it finds when, what it keeps, what it counts.
#include "core/pacer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "core/detector.h"
#include "support/threads.h"

namespace deadheat {
namespace {

class PacerTest : public testing::Test {
 protected:
  static constexpr ThreadId kFirst{1};
  static constexpr ThreadId kSecond{2};
  static constexpr ThreadId kThird{3};
  static constexpr SyncId kMutex{0x51};
  static constexpr Address kX = 0x1000;
  static constexpr Address kY = 0x2000;

  static Event begin(ThreadId thread) { return events::plain(EventKind::kSamplingBegin, thread); }
  static Event end(ThreadId thread) { return events::plain(EventKind::kSamplingEnd, thread); }
  void run(const std::vector<Event>& events) { detector->process(events); }
  [[nodiscard]] std::size_t races() const { return detector->findings().size(); }
  [[nodiscard]] std::uint64_t counter(std::string_view name) const {
    for (const Counter& counter : detector->counters()) {
      if (counter.name == name) return counter.value;
    }
    ADD_FAILURE() << "no counter " << name;
    return 0;
  }
  void fork_three() {
    for (const ThreadId child : {kFirst, kSecond, kThird}) run({events::on_thread(EventKind::kFork, kMain, child)});
  }

  std::unique_ptr<Detector> detector = make_detector(DetectorKind::kPacer);
};

TEST_F(PacerTest, TheFirstAccessDecides) {
  fork_three();
  run({begin(kFirst), events::write(kFirst, kX, 8), end(kFirst), events::write(kFirst, kY, 8)});
  run({events::read(kSecond, kX, 8)});
  EXPECT_EQ(races(), 1U);
  run({begin(kSecond), events::read(kSecond, kY, 8)});  // the write of y was not sampled
  EXPECT_EQ(races(), 1U);
}

// Figure 1 of the paper.
TEST_F(PacerTest, ASampledAccessThatIsNotTheLastToRaceIsForgotten) {
  fork_three();
  run({begin(kSecond), events::acquire(kSecond, kMutex), events::read(kSecond, kX, 8), events::write(kSecond, kY, 8),
       events::release(kSecond, kMutex), end(kSecond)});
  run({events::acquire(kFirst, kMutex), events::write(kFirst, kX, 8)});
  run({events::write(kThird, kX, 8)});  // races with both, and the last of them was not sampled
  EXPECT_EQ(races(), 0U);
  run({events::read(kThird, kY, 8)});
  EXPECT_EQ(races(), 1U);
}

// The case for which a thread begins a new epoch when it leaves; see pacer.h.
TEST_F(PacerTest, AWriteAfterLeavingIsNotTakenForTheSampledOne) {
  fork_three();
  run({begin(kFirst), begin(kSecond)});
  run({events::acquire(kFirst, kMutex), events::write(kFirst, kX, 8), end(kFirst), events::release(kFirst, kMutex)});
  run({events::acquire(kSecond, kMutex), events::read(kSecond, kX, 8)});
  EXPECT_EQ(races(), 0U);
  run({events::write(kFirst, kX, 8)});
  EXPECT_EQ(races(), 1U);
}

TEST_F(PacerTest, OrderThroughThreadsThatDoNotSampleIsOrder) {
  fork_three();
  run({begin(kFirst), events::write(kFirst, kX, 8), events::acquire(kFirst, kMutex), events::release(kFirst, kMutex)});
  run({events::acquire(kSecond, kMutex), events::release(kSecond, kMutex), events::acquire(kThird, kMutex),
       events::write(kThird, kX, 8)});
  EXPECT_EQ(races(), 0U);
}

TEST_F(PacerTest, DiscardedHistoriesGiveTheirMemoryBack) {
  constexpr std::uint64_t kBytes = 1 << 16;
  run({begin(kMain)});
  for (Address at = kX; at < kX + kBytes; at += 8) run({events::write(kMain, at, 8)});
  run({end(kMain)});
  EXPECT_EQ(counter("shadow pages"), kBytes / 128);
  for (Address at = kX; at < kX + kBytes; at += 8) run({events::read(kMain, at, 8)});
  EXPECT_EQ(counter("shadow pages"), kBytes / 128);  // a read does not make a write redundant
  for (Address at = kX; at < kX + kBytes; at += 8) run({events::write(kMain, at, 8)});
  EXPECT_EQ(counter("shadow pages"), 0U);
  EXPECT_EQ(counter("non-sampling slow reads"), kBytes / 8);
  EXPECT_EQ(counter("non-sampling slow writes"), kBytes / 8);
  run({events::write(kMain, kX, 8)});
  EXPECT_EQ(counter("non-sampling fast writes"), 1U);
}

TEST_F(PacerTest, AnUnsampledFreeDiscardsTheWholeBlock) {
  run({begin(kMain), events::write(kMain, kX, 8), events::write(kMain, kX + 1000, 8), end(kMain)});
  run({events::on_range(EventKind::kFree, kMain, kX, 4096)});
  EXPECT_EQ(counter("shadow pages"), 0U);
}

TEST_F(PacerTest, ASampledFreeIsFoundByWhoeverUsesTheMemory) {
  fork_three();
  run({begin(kFirst), events::on_range(EventKind::kFree, kFirst, kX, 1ULL << 30), end(kFirst)});
  run({events::read(kSecond, kX + 12345, 4)});
  ASSERT_EQ(races(), 1U);
  EXPECT_EQ(detector->findings()[0].kind, RaceKind::kUseFree);
  EXPECT_EQ(counter("shadow pages"), 0U);
}

TEST_F(PacerTest, IgnoredSynchronisationDoesNotKeepAThreadInItsPeriod) {
  fork_three();
  run({begin(kFirst), events::ignore(EventKind::kIgnoreBegin, kFirst, Ignore::kSync), end(kFirst),
       events::write(kFirst, kX, 8), events::write(kSecond, kX, 8)});
  EXPECT_EQ(races(), 0U);
}

TEST_F(PacerTest, APlanOverrulesThePeriodsOfTheTrace) {
  DetectorOptions options;
  options.sampling = SamplingPlan{.rate = 0, .seed = 1, .period = 10};
  detector = make_detector(DetectorKind::kPacer, options);
  fork_three();
  run({begin(kFirst), events::write(kFirst, kX, 8), events::write(kSecond, kX, 8)});
  EXPECT_EQ(races(), 0U);
  EXPECT_EQ(detector->sampled_share(), (SampledShare{0, 2}));
}

// One race among many accesses, over many seeds: found as often as the rate says.
TEST_F(PacerTest, EachRaceIsFoundWithTheProbabilityOfTheRate) {
  std::vector<Event> trace{events::on_thread(EventKind::kFork, kMain, kFirst)};
  constexpr Address kRacy[] = {kX, kX + 8, kX + 16};
  for (int part = 0; part < 3; ++part) {
    for (Address at = 0; at < 300; ++at) trace.push_back(events::write(kMain, 0x8000 + at * 8, 8));
    trace.push_back(events::write(kMain, kRacy[part], 8));
  }
  for (const Address racy : kRacy) trace.push_back(events::read(kFirst, racy, 8));
  constexpr int kSeeds = 4000;
  constexpr double kRate = 0.05;
  int found[3] = {};
  for (int seed = 0; seed < kSeeds; ++seed) {
    DetectorOptions options;
    options.sampling = SamplingPlan{.rate = kRate, .seed = static_cast<std::uint64_t>(seed), .period = 10};
    detector = make_detector(DetectorKind::kPacer, options);
    run(trace);
    for (const Finding& finding : detector->findings()) ++found[(finding.address - kX) / 8];
  }
  for (const int times : found) {
    EXPECT_NEAR(times, kSeeds * kRate, 5 * std::sqrt(kSeeds * kRate * (1 - kRate)));
  }
}

}  // namespace
}  // namespace deadheat
