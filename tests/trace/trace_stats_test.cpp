// SPDX-License-Identifier: Apache-2.0
#include "trace/trace_stats.h"

#include <gtest/gtest.h>

#include <string>

#include "trace/text_reader.h"

namespace deadheat {
namespace {

TraceStats stats_of(const std::string& text) {
  const Result<ParsedTrace> trace = parse_text_trace(text);
  EXPECT_TRUE(trace.ok()) << trace.error().message;
  TraceStatsCollector collector;
  // In two parts: a trace comes in batches.
  const std::span<const Event> events = trace.value().events;
  collector.add(events.first(events.size() / 2));
  collector.add(events.subspan(events.size() / 2));
  return collector.stats();
}

TEST(TraceStatsTest, EmptyTraceHasNothing) {
  const TraceStats stats = TraceStatsCollector().stats();
  EXPECT_EQ(stats.events, 0U);
  EXPECT_TRUE(stats.by_thread.empty());
}

TEST(TraceStatsTest, CountsByKindAndThread) {
  const TraceStats stats = stats_of(
      "0 fork 1\n0 write x\n0 read x\n0 read y\n1 acquire m\n1 write x 4 volatile\n1 atomic_rmw z 4 relaxed\n1 release "
      "m");
  EXPECT_EQ(stats.events, 8U);
  EXPECT_EQ(stats.count(EventKind::kRead), 2U);
  EXPECT_EQ(stats.count(EventKind::kFork), 1U);
  EXPECT_EQ(stats.count(EventKind::kJoin), 0U);
  EXPECT_EQ(stats.plain_accesses(), 4U);
  EXPECT_EQ(stats.atomic_accesses(), 1U);
  EXPECT_EQ(stats.volatile_accesses, 1U);
  ASSERT_EQ(stats.by_thread.size(), 2U);
  const ThreadStats& main = stats.by_thread.at(ThreadId{0});
  EXPECT_EQ(main.events, 4U);
  EXPECT_EQ(main.reads, 2U);
  EXPECT_EQ(main.writes, 1U);
  const ThreadStats& worker = stats.by_thread.at(ThreadId{1});
  EXPECT_EQ(worker.atomics, 1U);
  EXPECT_EQ(worker.acquires, 1U);
}

TEST(TraceStatsTest, CountsDistinctThings) {
  const TraceStats stats = stats_of(
      "0 read 0x10 4 @1\n0 write 0x10 8 @1\n0 read 0x11 4 @2\n0 read 0x1000000010 4\n0 atomic_load 0x10 4 acquire\n"
      "0 acquire 1\n0 release 1\n0 acquire 2\n0 wait_begin 9 2\n0 wait_end 9 2\n0 signal 9\n0 post 1\n"
      "0 barrier_arrive 1 0");
  EXPECT_EQ(stats.distinct_addresses, 3U);
  EXPECT_EQ(stats.distinct_atomics, 1U);
  EXPECT_EQ(stats.distinct_locks, 2U);
  EXPECT_EQ(stats.distinct_conditions, 1U);
  EXPECT_EQ(stats.distinct_semaphores, 1U);
  EXPECT_EQ(stats.distinct_barriers, 1U);
  EXPECT_EQ(stats.distinct_sites, 2U);
}

TEST(TraceStatsTest, CountsSizesOrdersAndLockForms) {
  const TraceStats stats = stats_of(
      "0 read 0x10 4\n0 read 0x10 4\n0 write 0x10 8\n0 atomic_store 0x20 4 release\n0 fence release\n0 alloc 0x100 24\n"
      "0 alloc 0x200 8\n0 acquire 1\n0 acquire 1 depth=2\n0 acquire 2 shared");
  EXPECT_EQ(stats.by_access_size, (std::map<std::uint64_t, std::uint64_t>{{4, 3}, {8, 1}}));
  EXPECT_EQ(stats.by_order[raw(MemoryOrder::kRelease)], 2U);
  EXPECT_EQ(stats.by_order[raw(MemoryOrder::kSeqCst)], 0U);
  EXPECT_EQ(stats.allocated_bytes, 32U);
  EXPECT_EQ(stats.shared_acquires, 1U);
  EXPECT_EQ(stats.recursive_acquires, 1U);
}

}  // namespace
}  // namespace deadheat
