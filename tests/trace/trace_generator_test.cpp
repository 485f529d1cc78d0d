// SPDX-License-Identifier: Apache-2.0
#include "trace/trace_generator.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <set>
#include <utility>

#include "base/raw.h"
#include "core/detector.h"
#include "trace/event_validity.h"
#include "trace/text_writer.h"
#include "trace/trace_checker.h"

namespace deadheat {
namespace {

// FNV-1a over the fields, one by one: independent of padding and byte order.
std::uint64_t hash_of(const GeneratorOptions& options) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  const auto mix = [&hash](std::uint64_t value) { hash = (hash ^ value) * 0x100000001b3ULL; };
  TraceGenerator generator(options);
  for (Event event; generator.next(event);) {
    mix(raw(event.kind));
    mix(event.detail);
    mix(event.depth);
    mix(raw(event.thread));
    mix(event.object);
    mix(event.extent);
    mix(raw(event.site));
  }
  return hash;
}

void expect_well_formed(const GeneratorOptions& options) {
  TraceGenerator generator(options);
  TraceChecker checker;
  std::set<ThreadId> running;
  std::uint64_t count = 0;
  for (Event event; generator.next(event); ++count) {
    ASSERT_TRUE(is_valid(event)) << "seed " << options.seed << " event " << count;
    const Status status = checker.check(event);
    ASSERT_TRUE(status.ok()) << "seed " << options.seed << ": " << status.error().message;
    running.insert(event.thread);
    if (event.kind == EventKind::kThreadExit) running.erase(event.thread);
    if (event.kind == EventKind::kJoin) running.erase(event.other_thread());
  }
  ASSERT_TRUE(checker.finish().ok());
  EXPECT_TRUE(running.empty()) << "seed " << options.seed << ": a thread neither exited nor was joined";
  EXPECT_GE(count, options.events);
}

TEST(TraceGenerator, SmallTracesAreWellFormedForEverySeed) {
  for (std::uint64_t seed = 0; seed < 5000; ++seed) {
    expect_well_formed(small_everything(seed));
    if (HasFatalFailure()) return;
  }
}

TEST(TraceGenerator, LongTracesOfEveryThemeAreWellFormed) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    GeneratorOptions options = small_everything(seed);
    options.events = 5000;
    expect_well_formed(options);
    if (HasFatalFailure()) return;
  }
}

TEST(TraceGenerator, BenchmarkTracesAreWellFormedForOneAndManyThreads) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    for (const std::uint32_t threads : {1U, 2U, 8U, 100U}) {
      expect_well_formed(access_heavy(seed, 5000, threads));
      expect_well_formed(lock_heavy(seed, 5000, threads));
      expect_well_formed(read_shared(seed, 5000, threads));
      if (HasFatalFailure()) return;
    }
  }
}

TEST(TraceGenerator, ThreadsComeAndGoWithoutEnd) {
  GeneratorOptions options = small_everything(5);
  options.events = 200'000;
  options.threads = 5;
  options.mix = {.access = 10, .lock = 2, .thread = 30};
  TraceGenerator generator(options);
  std::uint32_t highest = 0;
  for (Event event; generator.next(event);) highest = std::max(highest, raw(event.thread));
  EXPECT_GT(highest, 5'000U);
}

TEST(TraceGenerator, EveryKindAndMemoryOrderOccursInTheFirstFewHundredSmallTraces) {
  std::array<int, kEventKindCount> kinds{};
  std::set<std::pair<EventKind, MemoryOrder>> orders;
  std::set<std::uint64_t> sizes;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    for (const Event& event : generate_trace(small_everything(seed))) {
      ++kinds[raw(event.kind)];
      if (info(event.kind).detail == DetailMeaning::kOrder) orders.emplace(event.kind, event.order());
      if (event.kind == EventKind::kRead) sizes.insert(event.size());
    }
  }
  for (int kind = 0; kind < kEventKindCount; ++kind) EXPECT_GT(kinds[kind], 0) << kEventKinds[kind].name;
  // Loads have four legal orders, stores three, read-modify-writes and fences all six.
  EXPECT_EQ(orders.size(), 4U + 3U + 6U + 6U);
  for (const std::uint64_t size : {1, 2, 3, 4, 5, 8, 12, 16, 33}) EXPECT_TRUE(sizes.contains(size)) << size;
}

TEST(TraceGenerator, AtomicOrdersAreThoseThatTheLanguageAllows) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    for (const Event& event : generate_trace(small_everything(seed))) {
      if (event.kind == EventKind::kAtomicLoad) {
        ASSERT_FALSE(releases(event.order()) && event.order() != MemoryOrder::kSeqCst) << seed;
      }
      if (event.kind == EventKind::kAtomicStore) {
        ASSERT_FALSE(acquires(event.order()) && event.order() != MemoryOrder::kSeqCst) << seed;
      }
    }
  }
}

// The constants tie all machines and compilers to one sequence. They change
// with every deliberate change of the generator, and only then.
TEST(TraceGenerator, SameOptionsGiveTheSameTraceEverywhere) {
  EXPECT_EQ(hash_of(small_everything(1)), 12301729377251573757U);
  EXPECT_EQ(hash_of(small_everything(2)), 14637625570728970921U);
  EXPECT_EQ(hash_of(access_heavy(1, 100'000, 4)), 662123292396298108U);
  EXPECT_EQ(hash_of(lock_heavy(1, 100'000, 4)), 16099763394323122723U);
  EXPECT_EQ(hash_of(read_shared(1, 100'000, 4)), 7561252438161397172U);
}

TEST(TraceGenerator, FillAndNextGiveTheSameTrace) {
  const GeneratorOptions options = access_heavy(9, 10'000, 3);
  std::vector<Event> filled(777);
  TraceGenerator generator(options);
  std::vector<Event> all;
  for (std::size_t count = generator.fill(filled); count > 0; count = generator.fill(filled)) {
    all.insert(all.end(), filled.begin(), filled.begin() + static_cast<std::ptrdiff_t>(count));
  }
  EXPECT_EQ(all, generate_trace(options));
}

TEST(TraceGenerator, DensityZeroHasNoRaceUnderEitherRuleForReleaseSequences) {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    GeneratorOptions options = small_everything(seed);
    options.race_density = 0;
    options.events = 150;
    const std::vector<Event> trace = generate_trace(options);
    for (const ReleaseSequences rule : {ReleaseSequences::kCpp11, ReleaseSequences::kCpp20}) {
      const auto detector = make_detector(DetectorKind::kReference, {.release_sequences = rule});
      detector->process(trace);
      ASSERT_TRUE(detector->findings().empty())
          << "seed " << seed << ", event " << detector->findings()[0].event_index << ": "
          << to_text(trace[detector->findings()[0].event_index], Dictionary{});
    }
  }
}

// Without this, the test above would also pass on traces whose threads never meet.
TEST(TraceGenerator, DensityZeroPassesDataBetweenThreads) {
  std::size_t conflicts = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    GeneratorOptions options = small_everything(seed);
    options.race_density = 0;
    options.events = 80;
    std::map<Address, ThreadId> last_writer;
    for (const Event& event : generate_trace(options)) {
      if (event.kind != EventKind::kRead && event.kind != EventKind::kWrite) continue;
      const auto found = last_writer.find(event.address());
      if (found != last_writer.end() && found->second != event.thread) ++conflicts;
      if (event.kind == EventKind::kWrite) last_writer[event.address()] = event.thread;
    }
  }
  EXPECT_GT(conflicts, 1000U);
}

TEST(TraceGenerator, DensityOneRaces) {
  int racy = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    GeneratorOptions options = small_everything(seed);
    options.race_density = 1;
    options.events = 80;
    const auto detector = make_detector(DetectorKind::kReference);
    detector->process(generate_trace(options));
    racy += detector->findings().empty() ? 0 : 1;
  }
  EXPECT_GT(racy, 150);
}

TEST(TraceGenerator, LockHeavyIsHalfLockEvents) {
  std::size_t locks = 0;
  const std::vector<Event> trace = generate_trace(lock_heavy(1, 50'000, 8));
  for (const Event& event : trace) {
    locks += event.kind == EventKind::kLockAcquire || event.kind == EventKind::kLockRelease ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(locks) / static_cast<double>(trace.size()), 0.5, 0.1);
}

TEST(TraceGenerator, DictionaryNamesVariablesLocksSitesAndThreads) {
  TraceGenerator generator(small_everything(4));
  Event event;
  while (generator.next(event)) {
    EXPECT_LT(raw(event.site), generator.dictionary().sites.size());
    EXPECT_TRUE(generator.dictionary().threads.contains(event.thread));
    if (info(event.kind).object == ObjectMeaning::kSync) {
      EXPECT_TRUE(generator.dictionary().syncs.contains(event.sync()));
    }
  }
  EXPECT_EQ(generator.dictionary().sites[SiteId{5}], (Site{"f1", "gen.cpp", 50, {}, 0}));
  EXPECT_EQ(generator.dictionary().threads.at(ThreadId{0}), "main");
  Address end = 0;
  for (const auto& [address, range] : generator.dictionary().ranges) {
    EXPECT_GE(address, end) << range.name << " overlaps its neighbour";
    end = address + range.size;
  }
}

}  // namespace
}  // namespace deadheat
