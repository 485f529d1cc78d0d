// SPDX-License-Identifier: Apache-2.0
#include "report/live_deadlock.h"

#include <gtest/gtest.h>

namespace deadheat {
namespace {

schedule::RunFileHeader two_threads() {
  schedule::RunFileHeader header;
  header.deadlocked = 2;
  header.cycle[0] = {.number = 2, .frame_count = 1, .wanted = 0x1000, .frames = {0x10}};
  header.cycle[1] = {.number = 3, .frame_count = 0, .wanted = 0x2000, .frames = {}};
  return header;
}

TEST(LiveDeadlockTest, EachThreadWaitsForWhatTheNextHolds) {
  Symbolizer symbolizer;
  const LiveDeadlock deadlock = make_live_deadlock(two_threads(), {}, symbolizer);
  EXPECT_EQ(format_deadlock(deadlock, ColourMode::kPlain),
            "     cycle  thread 2 waits for lock 0x1000, which thread 3 holds\n"
            "            (unknown function)\n"
            "            thread 3 waits for lock 0x2000, which thread 2 holds\n");
}

TEST(LiveDeadlockTest, WhichThreadComesFirstDoesNotMatter) {
  Symbolizer symbolizer;
  schedule::RunFileHeader turned = two_threads();
  std::swap(turned.cycle[0], turned.cycle[1]);
  EXPECT_EQ(make_live_deadlock(two_threads(), {}, symbolizer).fingerprint,
            make_live_deadlock(turned, {}, symbolizer).fingerprint);
  turned.deadlocked = 1;
  EXPECT_NE(make_live_deadlock(two_threads(), {}, symbolizer).fingerprint,
            make_live_deadlock(turned, {}, symbolizer).fingerprint);
}

TEST(LiveDeadlockTest, DamagedNumbersAreCutToWhatThereIs) {
  Symbolizer symbolizer;
  schedule::RunFileHeader header = two_threads();
  header.deadlocked = 4'000'000'000;
  header.cycle[1].frame_count = 4'000'000'000;
  const LiveDeadlock deadlock = make_live_deadlock(header, {}, symbolizer);
  EXPECT_EQ(deadlock.cycle.size(), schedule::kDeadlockThreads);
  EXPECT_EQ(deadlock.cycle[1].stack.size(), schedule::kDeadlockFrames);
}

}  // namespace
}  // namespace deadheat
