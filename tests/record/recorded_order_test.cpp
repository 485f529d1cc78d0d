// SPDX-License-Identifier: Apache-2.0
#include "trace/recorded_order.h"

#include <gtest/gtest.h>

#include "core/detector.h"

namespace deadheat {
namespace {

constexpr Address kWord = 0x4000;
constexpr SyncId kLock{0x5000};

// A thread with its log and its writes of the word.
struct Sketch {
  RecordedThread thread;
  std::vector<PlacedAccess> accesses;

  explicit Sketch(std::uint32_t id) { thread.id = ThreadId{id}; }
  Sketch& log(std::uint64_t time, Event event) {
    event.thread = thread.id;
    thread.log.push_back({time, 0, event, 0});
    return *this;
  }
  Sketch& write(std::uint64_t time, Address address = kWord) {
    accesses.push_back({time, events::write(thread.id, address, 8)});
    return *this;
  }
};

std::size_t races_of(const std::vector<Sketch>& sketches, bool are_opaque = false) {
  std::vector<OrderedThread> threads;
  for (const Sketch& sketch : sketches) threads.push_back({&sketch.thread, sketch.accesses, are_opaque});
  const auto stream = order_recording(threads, [](std::uint64_t) { return SiteId::kUnknown; });
  const auto detector = make_detector(DetectorKind::kFastTrack);
  detector->process(stream);
  detector->finish();
  return detector->findings().size();
}

Sketch parent() {
  Sketch main(0);
  main.log(1, events::on_thread(EventKind::kFork, {}, ThreadId{1}));
  main.log(2, events::on_thread(EventKind::kFork, {}, ThreadId{2}));
  return main;
}

TEST(RecordedOrderTest, UnorderedWritesRace) {
  EXPECT_EQ(races_of({parent(), Sketch(1).write(10), Sketch(2).write(20)}), 1U);
}

TEST(RecordedOrderTest, ALockOrdersWhatItsStretchesHave) {
  const auto locked = [](std::uint32_t id, std::uint64_t time) {
    return Sketch(id).log(time, events::acquire({}, kLock)).write(time + 1).log(time + 2, events::release({}, kLock));
  };
  EXPECT_EQ(races_of({parent(), locked(1, 10), locked(2, 20)}), 0U);
  // After the release: no longer.
  EXPECT_EQ(races_of({parent(), locked(1, 10).write(15), locked(2, 20)}), 1U);
}

TEST(RecordedOrderTest, JoinOrders) {
  Sketch main = parent();
  main.log(30, events::on_thread(EventKind::kJoin, {}, ThreadId{1})).write(31);
  EXPECT_EQ(races_of({main, Sketch(1).write(10).log(20, events::plain(EventKind::kThreadExit, {}))}), 0U);
  EXPECT_EQ(races_of({parent().write(31), Sketch(1).write(10)}), 1U);
}

// The sample's clock says 5; that its access came before the allocation only the log can tell.
TEST(RecordedOrderTest, MemoryThatGoesToAnotherThreadIsNew) {
  const Event block = events::on_range(EventKind::kAlloc, {}, kWord, 8);
  const Event gone = events::on_range(EventKind::kFree, {}, kWord, 0);
  EXPECT_EQ(races_of({parent(), Sketch(1).log(4, block).write(5).log(8, gone), Sketch(2).log(9, block).write(12)}), 0U);
}

TEST(RecordedOrderTest, WhatCountsForEverybodyOrdersEverybody) {
  const Event told = events::on_sync(EventKind::kHappensBefore, {}, kEverybodyTag);
  const Event later = events::on_sync(EventKind::kSemaphorePost, {}, SyncId{0x6000});
  EXPECT_EQ(races_of({parent(), Sketch(1).write(5).log(6, told), Sketch(2).write(8).log(9, later)}), 0U);
  EXPECT_EQ(races_of({parent(), Sketch(1).log(6, told).write(7), Sketch(2).write(8).log(9, later)}), 1U);
  // Its sample says 4, but the access may be as late as the next entry.
  EXPECT_EQ(races_of({parent(), Sketch(1).write(5).log(6, told), Sketch(2).write(4).log(9, later)}), 0U);
}

TEST(RecordedOrderTest, OpaqueThreadsAreNotCompared) {
  EXPECT_EQ(races_of({parent(), Sketch(1).write(10), Sketch(2).write(20)}, true), 0U);
}

// 1 hands over to 3 by a lock, 3 to 4 by an atomic that nobody logs, 4 to 2 by another lock.
TEST(RecordedOrderTest, OpaqueThreadsPassOrderOn) {
  const SyncId other{0x7000};
  Sketch main = parent();
  main.log(3, events::on_thread(EventKind::kFork, {}, ThreadId{3}));
  main.log(4, events::on_thread(EventKind::kFork, {}, ThreadId{4}));
  const Sketch first = Sketch(1).write(10).log(11, events::acquire({}, kLock)).log(12, events::release({}, kLock));
  const Sketch third = Sketch(3).log(20, events::acquire({}, kLock)).log(21, events::release({}, kLock));
  const Sketch fourth = Sketch(4).log(30, events::acquire({}, other)).log(31, events::release({}, other));
  const Sketch second = Sketch(2).log(40, events::acquire({}, other)).log(41, events::release({}, other)).write(45);
  const auto races = [&](bool is_opaque) {
    const std::vector<OrderedThread> threads = {{&main.thread, main.accesses},
                                                {&first.thread, first.accesses},
                                                {&second.thread, second.accesses},
                                                {&third.thread, third.accesses, is_opaque},
                                                {&fourth.thread, fourth.accesses, is_opaque}};
    const auto detector = make_detector(DetectorKind::kFastTrack);
    detector->process(order_recording(threads, [](std::uint64_t) { return SiteId::kUnknown; }));
    return detector->findings().size();
  };
  EXPECT_EQ(races(true), 0U);
  EXPECT_EQ(races(false), 1U);
}

TEST(RecordedOrderTest, ReadersOfOneLockAreNotOrdered) {
  const auto reader = [](std::uint32_t id, std::uint64_t time) {
    return Sketch(id)
        .log(time, events::acquire({}, kLock, LockMode::kShared))
        .write(time + 1)
        .log(time + 2, events::release({}, kLock));  // the log does not tell how it was held
  };
  EXPECT_EQ(races_of({parent(), reader(1, 10), reader(2, 20)}), 1U);
}

}  // namespace
}  // namespace deadheat
