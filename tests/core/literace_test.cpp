// SPDX-License-Identifier: Apache-2.0
#include "core/literace.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "support/threads.h"

namespace deadheat {
namespace {

TEST(ColdCodeSampler, FallsFromAllCallsToOneInAThousandInBurstsOfTen) {
  ColdCodeSampler sampler;
  std::vector<std::uint32_t> bursts;  // the calls that begin one
  bool was_sampled = false;
  for (std::uint32_t call = 0; call < 31'100; ++call) {
    const bool is_sampled = sampler.enter();
    if (is_sampled && !was_sampled) bursts.push_back(call);
    was_sampled = is_sampled;
  }
  EXPECT_EQ(bursts, (std::vector<std::uint32_t>{0, 100, 1100, 11'100, 21'100}));
}

class LiteRaceTest : public testing::Test {
 protected:
  static constexpr SyncId kMutex{0x51};
  static constexpr Address kX = 0x1000;

  static Event enter(ThreadId thread, std::uint32_t site) {
    return events::at(events::plain(EventKind::kFunctionEnter, thread), SiteId{site});
  }
  static Event leave(ThreadId thread) { return events::plain(EventKind::kFunctionExit, thread); }

  LiteRaceTest() { run({events::on_thread(EventKind::kFork, kMain, kWorker)}); }
  void run(const std::vector<Event>& events) { detector->process(events); }
  void call(ThreadId thread, std::uint32_t site, const Event& access) {
    run({enter(thread, site), access, leave(thread)});
  }
  void warm_up(ThreadId thread, std::uint32_t site) {
    for (int times = 0; times < 10; ++times) call(thread, site, events::read(thread, 0x9000, 8));
  }
  [[nodiscard]] std::size_t races() const { return detector->findings().size(); }

  std::unique_ptr<Detector> detector = make_detector(DetectorKind::kLiteRace);
};

TEST_F(LiteRaceTest, FindsARaceOfColdCode) {
  call(kMain, 1, events::write(kMain, kX, 8));
  call(kWorker, 2, events::write(kWorker, kX, 8));
  ASSERT_EQ(races(), 1U);
  EXPECT_EQ(detector->findings()[0].event_index, 5U);
}

TEST_F(LiteRaceTest, MissesARaceIfEitherSideIsHot) {
  warm_up(kMain, 1);
  call(kMain, 1, events::write(kMain, kX, 8));
  call(kWorker, 2, events::write(kWorker, kX, 8));
  EXPECT_EQ(races(), 0U);
  EXPECT_EQ(detector->sampled_share(), (SampledShare{11, 12}));
}

TEST_F(LiteRaceTest, HeatIsOneThreadsAndOneFunctions) {
  warm_up(kMain, 1);
  call(kMain, 3, events::write(kMain, kX, 8));
  call(kWorker, 1, events::write(kWorker, kX, 8));
  EXPECT_EQ(races(), 1U);
}

TEST_F(LiteRaceTest, AnAccessBelongsToTheInnermostCall) {
  warm_up(kMain, 1);
  run({enter(kMain, 5), enter(kMain, 1), events::write(kMain, kX, 8), leave(kMain), events::write(kMain, kX + 8, 8)});
  call(kWorker, 2, events::write(kWorker, kX, 16));
  ASSERT_EQ(races(), 1U);
  EXPECT_EQ(detector->racy_bytes(), (std::vector<Detector::Range>{{kX + 8, kX + 16}}));
}

TEST_F(LiteRaceTest, SynchronisationOfHotCodeCounts) {
  warm_up(kMain, 1);
  run({events::acquire(kMain, kMutex), events::write(kMain, kX, 8), enter(kMain, 1), events::release(kMain, kMutex),
       leave(kMain)});
  run({events::acquire(kWorker, kMutex), events::write(kWorker, kX, 8)});
  EXPECT_EQ(races(), 0U);
}

}  // namespace
}  // namespace deadheat
