// SPDX-License-Identifier: Apache-2.0
#include "trace/event_validity.h"

#include <gtest/gtest.h>

namespace deadheat {
namespace {

constexpr ThreadId kThread{1};

std::string problem(const Event& event) {
  const Status status = validate(event);
  EXPECT_EQ(status.ok(), is_valid(event));
  return status ? "" : status.error().message;
}

TEST(EventValidityTest, AccessSizesAreBounded) {
  EXPECT_EQ(problem(events::read(kThread, 8, 1)), "");
  EXPECT_EQ(problem(events::read(kThread, 8, kMaxAccessSize)), "");
  EXPECT_EQ(problem(events::read(kThread, 8, 0)), "size 0 of read is outside 1 .. 16777216");
  EXPECT_NE(problem(events::write(kThread, 8, kMaxAccessSize + 1)), "");
}

TEST(EventValidityTest, RangesDoNotReachPastTheEndOfMemory) {
  EXPECT_EQ(problem(events::read(kThread, UINT64_MAX - 8, 8)), "");
  EXPECT_NE(problem(events::read(kThread, UINT64_MAX - 7, 8)), "");
  EXPECT_NE(problem(events::on_range(EventKind::kFree, kThread, 1, UINT64_MAX)), "");
}

TEST(EventValidityTest, OnlyAllocAndFreeMayBeEmpty) {
  EXPECT_EQ(problem(events::on_range(EventKind::kAlloc, kThread, 8, 0)), "");
  EXPECT_EQ(problem(events::on_range(EventKind::kFree, kThread, 8, 0)), "");
  EXPECT_NE(problem(events::on_range(EventKind::kBenignRange, kThread, 8, 0)), "");
}

TEST(EventValidityTest, ThreadsStayBelowTheLimit) {
  EXPECT_EQ(problem(events::plain(EventKind::kThreadExit, ThreadId{kThreadLimit - 1})), "");
  EXPECT_NE(problem(events::plain(EventKind::kThreadExit, ThreadId{kThreadLimit})), "");
  EXPECT_NE(problem(events::on_thread(EventKind::kFork, kThread, ThreadId{kThreadLimit})), "");
}

TEST(EventValidityTest, DetailsAreInRange) {
  EXPECT_EQ(problem(events::fence(kThread, MemoryOrder::kSeqCst)), "");
  EXPECT_EQ(problem(events::fence(kThread, MemoryOrder{6})), "detail 6 of fence is outside 0 .. 5");
  EXPECT_NE(problem(events::read(kThread, 8, 8, AccessFlavour{2})), "");
  EXPECT_NE(problem(events::ignore(EventKind::kIgnoreBegin, kThread, Ignore{0})), "");
  EXPECT_NE(problem(events::ignore(EventKind::kIgnoreBegin, kThread, Ignore{8})), "");
  Event acquire = events::acquire(kThread, SyncId{1});
  acquire.detail = 4;
  EXPECT_NE(problem(acquire), "");
}

TEST(EventValidityTest, FieldsWithoutMeaningAreZero) {
  Event enter = events::plain(EventKind::kFunctionEnter, kThread);
  enter.object = 1;
  EXPECT_EQ(problem(enter), "object 1 of enter, which has none");
  Event release = events::release(kThread, SyncId{1});
  release.extent = 1;
  EXPECT_NE(problem(release), "");
  Event read = events::read(kThread, 8, 8);
  read.depth = 1;
  EXPECT_NE(problem(read), "");
}

TEST(EventValidityTest, UnknownKindIsInvalid) {
  Event event;
  event.kind = EventKind{kEventKindCount};
  EXPECT_EQ(problem(event), "event kind 36 is not one of the 36 known");
}

}  // namespace
}  // namespace deadheat
