// SPDX-License-Identifier: Apache-2.0
#include "support/shrink.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "support/threads.h"
#include "trace/text_writer.h"
#include "trace/trace_checker.h"
#include "trace/trace_generator.h"

namespace deadheat {
namespace {

constexpr SyncId kLock{7};

GeneratorOptions long_trace(std::uint64_t seed) {
  GeneratorOptions options = small_everything(seed);
  options.events = 300;
  return options;
}

std::size_t count(std::span<const Event> trace, EventKind kind) {
  return static_cast<std::size_t>(
      std::count_if(trace.begin(), trace.end(), [kind](const Event& event) { return event.kind == kind; }));
}

std::string describe(std::span<const Event> trace) {
  std::string text;
  for (const Event& event : trace) text += to_text(event, Dictionary{}) + "\n";
  return text;
}

TEST(Shrink, KeepsOnlyTheEventThatMatters) {
  std::vector<Event> trace = generate_trace(long_trace(3));
  const Event needle = events::write(kMain, 0xdead0000, 1);
  trace.insert(trace.begin(), needle);
  const auto has_needle = [&](std::span<const Event> candidate) {
    return std::find(candidate.begin(), candidate.end(), needle) != candidate.end();
  };
  EXPECT_EQ(shrink(trace, has_needle), std::vector<Event>{needle});
}

TEST(Shrink, KeepsTheForkThatTheRemainingThreadNeeds) {
  const std::vector<Event> trace = generate_trace(access_heavy(1, 2000, 4));
  const auto both_write = [](std::span<const Event> candidate) {
    const auto writes = [candidate](ThreadId thread) {
      return std::any_of(candidate.begin(), candidate.end(), [thread](const Event& event) {
        return event.thread == thread && event.kind == EventKind::kWrite;
      });
    };
    return writes(kMain) && writes(kWorker);
  };
  ASSERT_TRUE(both_write(trace));
  const std::vector<Event> small = shrink(trace, both_write);
  ASSERT_EQ(small.size(), 3U) << describe(small);
  EXPECT_EQ(count(small, EventKind::kFork), 1U) << describe(small);
}

TEST(Shrink, RemovesAcquireAndReleaseTogether) {
  const std::vector<Event> trace = {
      events::acquire(kMain, kLock), events::write(kMain, 16, 8), events::release(kMain, kLock),
      events::acquire(kMain, kLock), events::read(kMain, 16, 8),  events::release(kMain, kLock),
  };
  // Fails only while acquires and releases balance, so neither can go alone.
  const auto balanced_write = [](std::span<const Event> candidate) {
    return count(candidate, EventKind::kLockAcquire) == count(candidate, EventKind::kLockRelease) &&
           count(candidate, EventKind::kWrite) == 1;
  };
  EXPECT_EQ(shrink(trace, balanced_write), (std::vector<Event>{events::write(kMain, 16, 1)}));
}

TEST(Shrink, MergesThreadsThatNeedNotDiffer) {
  const std::vector<Event> trace = {
      events::on_thread(EventKind::kFork, kMain, kWorker),
      events::write(kMain, 16, 8),
      events::read(kWorker, 16, 8),
      events::plain(EventKind::kThreadExit, kWorker),
      events::on_thread(EventKind::kJoin, kMain, kWorker),
  };
  const auto write_and_read = [](std::span<const Event> candidate) {
    return count(candidate, EventKind::kWrite) == 1 && count(candidate, EventKind::kRead) == 1;
  };
  EXPECT_EQ(shrink(trace, write_and_read),
            (std::vector<Event>{events::write(kMain, 16, 1), events::read(kMain, 16, 1)}));
}

TEST(Shrink, ResultIsWellFormedAndCannotLoseOneMoreEvent) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const std::vector<Event> trace = generate_trace(long_trace(seed));
    // Two threads touch one byte, and somebody forks: an arbitrary conjunction.
    const auto fails = [](std::span<const Event> candidate) {
      for (const Event& one : candidate) {
        if (one.kind != EventKind::kRead && one.kind != EventKind::kWrite) continue;
        for (const Event& other : candidate) {
          const bool overlaps =
              one.address() < other.address() + other.size() && other.address() < one.address() + one.size();
          if (other.kind == EventKind::kWrite && other.thread != one.thread && overlaps) {
            return count(candidate, EventKind::kFork) > 0;
          }
        }
      }
      return false;
    };
    if (!fails(trace)) continue;
    const std::vector<Event> small = shrink(trace, fails);
    EXPECT_LE(small.size(), 5U) << "seed " << seed << '\n' << describe(small);
    EXPECT_TRUE(fails(small));
    for (std::size_t skipped = 0; skipped <= small.size(); ++skipped) {
      std::vector<Event> candidate = small;
      if (skipped < small.size()) candidate.erase(candidate.begin() + static_cast<std::ptrdiff_t>(skipped));
      TraceChecker checker;
      const bool well_formed = checker.check(std::span<const Event>(candidate)).ok();
      EXPECT_EQ(well_formed && fails(candidate), skipped == small.size()) << "seed " << seed << '\n' << describe(small);
    }
  }
}

TEST(Shrink, NeverCallsThePredicateOnABrokenTraceOrBeyondItsBudget) {
  const std::vector<Event> trace = generate_trace(long_trace(5));
  std::size_t calls = 0;
  const auto picky = [&](std::span<const Event> candidate) {
    ++calls;
    TraceChecker checker;
    EXPECT_TRUE(checker.check(candidate).ok());
    return calls % 3 == 0;
  };
  const std::vector<Event> small = shrink(trace, picky, {.predicate_calls = 50});
  EXPECT_EQ(calls, 50U);
  EXPECT_LT(small.size(), trace.size());
}

}  // namespace
}  // namespace deadheat
