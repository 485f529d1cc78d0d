// SPDX-License-Identifier: Apache-2.0
// Random programs that loop over arrays, through SlimState and the reference: the
// same racy bytes, and for every finding two accesses that make it true. The loops
// of all threads come from a few places in the code, so footprints grow; they go up
// and down, with gaps, and overlap; blocks are freed, made anew at other borders,
// and split by narrower accesses.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/random.h"
#include "core/detector.h"
#include "property/random_traces.h"

namespace deadheat {
namespace {

constexpr Address kMemory = 0x10000;
constexpr std::uint64_t kMemorySize = 1024;

class LoopProgram {
 public:
  explicit LoopProgram(std::uint64_t seed) : random_(seed), threads_(2 + random_.below(3)) {}

  std::vector<Event> make() {
    make_blocks(0);
    for (std::uint32_t thread = 1; thread < threads_; ++thread) {
      trace_.push_back(events::on_thread(EventKind::kFork, ThreadId{0}, ThreadId{thread}));
    }
    std::vector<std::vector<Event>> waiting(threads_);
    const std::uint64_t steps = 5 + random_.below(40);
    for (std::uint64_t step = 0; step < steps; ++step) {
      const auto thread = static_cast<std::uint32_t>(random_.below(threads_));
      if (waiting[thread].empty()) waiting[thread] = next_piece(thread);
      // Now a part of the loop, then perhaps a part of another thread's.
      const std::size_t now = std::min<std::size_t>(waiting[thread].size(), 1 + random_.below(30));
      trace_.insert(trace_.end(), waiting[thread].begin(), waiting[thread].begin() + static_cast<std::ptrdiff_t>(now));
      waiting[thread].erase(waiting[thread].begin(), waiting[thread].begin() + static_cast<std::ptrdiff_t>(now));
    }
    return trace_;
  }

 private:
  std::vector<Event> next_piece(std::uint32_t thread) {
    const std::uint64_t choice = random_.below(20);
    if (choice == 0) make_blocks(thread);
    if (choice >= 2 && choice < 6) critical_section(thread);
    if (choice == 1) {
      const Address begin = kMemory + random_.below(kMemorySize);
      const EventKind kind = random_.chance(0.7) ? EventKind::kFree : EventKind::kBenignRange;
      return {events::on_range(kind, ThreadId{thread}, begin, 1 + random_.below(kMemory + kMemorySize - begin))};
    }
    return choice < 6 ? std::vector<Event>{} : loop(thread);
  }

  // The memory, or some of it, becomes blocks of random sizes.
  void make_blocks(std::uint32_t thread) {
    Address at = kMemory + (random_.chance(0.5) ? 0 : random_.below(kMemorySize));
    const Address end = kMemory + kMemorySize;
    while (at < end) {
      const std::uint64_t size = std::min<std::uint64_t>(end - at, 8 + random_.below(800));
      trace_.push_back(events::on_range(EventKind::kAlloc, ThreadId{thread}, at, size));
      at += size + (random_.chance(0.5) ? 0 : random_.below(32));
      if (random_.chance(0.2)) return;
    }
  }

  void critical_section(std::uint32_t thread) {
    const SyncId lock{1 + random_.below(2)};
    trace_.push_back(events::acquire(ThreadId{thread}, lock));
    trace_.push_back(events::release(ThreadId{thread}, lock));
  }

  std::vector<Event> loop(std::uint32_t thread) {
    static constexpr std::uint64_t kSizes[] = {1, 4, 8, 8, 8, 16, 3, 100};
    const std::uint64_t size = kSizes[random_.below(std::size(kSizes))];
    const std::uint64_t stride = random_.chance(0.6) ? size : size * (1 + random_.below(4)) + random_.below(2) * 4;
    const std::uint64_t phase = random_.below(3);
    const std::uint64_t count = 1 + random_.below(kMemorySize / stride);
    Address at = kMemory + phase * size + (random_.chance(0.5) ? 0 : random_.below(kMemorySize / 8) * 8);
    const bool down = random_.chance(0.2);
    if (down) at += (count - 1) * stride;
    const auto kind = kind_of_loop();
    const auto site = static_cast<std::uint32_t>(1 + random_.below(4));
    std::vector<Event> result;
    for (std::uint64_t turn = 0; turn < count; ++turn) {
      if (at >= kMemory && at + size <= kMemory + kMemorySize) result.push_back(access(kind, thread, at, size, site));
      at = down ? at - stride : at + stride;
    }
    return result;
  }

  EventKind kind_of_loop() {
    const std::uint64_t choice = random_.below(20);
    if (choice == 0) return EventKind::kAtomicStore;
    if (choice == 1) return EventKind::kAtomicLoad;
    return choice < 11 ? EventKind::kRead : EventKind::kWrite;
  }

  static Event access(EventKind kind, std::uint32_t thread, Address at, std::uint64_t size, std::uint32_t site) {
    const ThreadId self{thread};
    if (kind == EventKind::kRead) return events::at(events::read(self, at, size), SiteId{site});
    if (kind == EventKind::kWrite) return events::at(events::write(self, at, size), SiteId{site});
    return events::at(events::atomic(kind, self, at, size, MemoryOrder::kRelaxed), SiteId{site});
  }

  Random random_;
  std::uint64_t threads_;
  std::vector<Event> trace_;
};

bool is_side(const Event& event, const RacingAccess& access, const Finding& finding) {
  return event.thread == access.thread && event.site == access.site && access_kind(event.kind) == access.kind &&
         finding.address >= event.address() && finding.address - event.address() < event.size();
}

// The finding with these two events for its sides.
bool is_true_of(Finding finding, std::uint64_t one, std::uint64_t other, const OrderOracle& oracle) {
  if (one > other) {
    std::swap(one, other);
    std::swap(finding.earlier, finding.later);
  }
  finding.kind = race_kind(finding.earlier.kind, finding.later.kind);
  finding.earlier.site = site_of_event(one);
  finding.later.site = site_of_event(other);
  finding.event_index = other;
  finding.size = 1;  // the others may be common to other accesses of the loops
  return oracle.refute(finding).empty();
}

// A commit is about many accesses; some two of them make the finding true.
bool is_true(const Finding& finding, std::span<const Event> trace, const OrderOracle& oracle) {
  for (std::uint64_t one = 0; one < trace.size(); ++one) {
    if (!is_side(trace[one], finding.earlier, finding)) continue;
    for (std::uint64_t other = 0; other < trace.size(); ++other) {
      if (is_side(trace[other], finding.later, finding) && is_true_of(finding, one, other, oracle)) return true;
    }
  }
  return false;
}

std::string judge_slim_state(std::span<const Event> events, std::uint64_t /*seed*/) {
  const auto reference = make_detector(DetectorKind::kReference);
  reference->process(events);
  const auto slim = make_detector(DetectorKind::kSlimState);
  slim->process(events);
  slim->finish();
  if (std::string wrong = compare_bytes("slimstate", *slim, *reference); !wrong.empty()) return wrong;
  const std::vector<Event> trace = with_own_sites(events);
  const OrderOracle oracle(trace, ReleaseSequences::kCpp11);
  for (const Finding& finding : slim->findings()) {
    if (!is_true(finding, events, oracle)) {
      return "slimstate: a race of the sites " + std::to_string(raw(finding.earlier.site)) + " and " +
             std::to_string(raw(finding.later.site)) + " at " + std::to_string(finding.address) + ", " +
             std::to_string(finding.size) + " bytes, that no two accesses have";
    }
  }
  return {};
}

class ArrayLoopsAgree : public testing::TestWithParam<int> {};

TEST_P(ArrayLoopsAgree, OnRandomPrograms) {
  for_each_seed(GetParam(), number_of_traces() / 8,
                [](std::uint64_t seed) { expect_agreement(LoopProgram(seed).make(), seed, judge_slim_state); });
}

INSTANTIATE_TEST_SUITE_P(Shard, ArrayLoopsAgree, testing::Range(0, kShards));

// The test is worth nothing if the arrays of the programs are not arrays to SlimState.
TEST(LoopPrograms, MakeFootprintsOfManyAccesses) {
  std::uint64_t footprints = 0;
  std::uint64_t accesses = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const auto slim = make_detector(DetectorKind::kSlimState);
    slim->process(LoopProgram(seed).make());
    slim->finish();
    for (const Counter& counter : slim->counters()) {
      if (std::string(counter.name) == "footprints") footprints += counter.value;
      if (std::string(counter.name) == "accesses in footprints") accesses += counter.value;
    }
  }
  EXPECT_GT(accesses, 1000U);
  EXPECT_GT(accesses, 3 * footprints);
}

}  // namespace
}  // namespace deadheat
