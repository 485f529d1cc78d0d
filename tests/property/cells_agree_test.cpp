// SPDX-License-Identifier: Apache-2.0
// The rules of the online detector against the reference, on random traces: the
// same racy bytes; every reported pair a true race with the true stack and
// locks, so each byte of a merged entry has its own origin; no report where the
// generator kept to its discipline. Once with slots for everybody, once with so
// few that they are continued and swept all the time.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "property/cell_detector.h"
#include "property/random_traces.h"
#include "property/recycled_slots.h"
#include "trace/trace_generator.h"

namespace deadheat {
namespace {

// Empty if the cells agree with the reference on the trace.
std::string judge(const Detector& cells, const std::string& contradiction, const std::vector<Event>& trace,
                  const CellDetectorOptions& options) {
  const auto reference = make_detector(DetectorKind::kReference, DetectorOptions{options.release_sequences});
  reference->process(trace);
  if (std::string wrong = compare_bytes("cells", cells, *reference); !wrong.empty()) return wrong;
  if (options.origins == OriginNumbers::kFew) return {};
  if (!contradiction.empty()) return contradiction;
  return check_findings("cells", cells, OrderOracle(trace, options.release_sequences));
}

std::string judge_cells(std::span<const Event> events, std::uint64_t seed) {
  const std::vector<Event> trace = with_own_sites(events);
  const CellDetectorOptions options = random_cell_options(seed);
  CellDetector<PlainSlots> cells(options, options.release_sequences);
  cells.process(trace);
  return judge(cells, cells.contradiction(), trace, options);
}

class CellsAgree : public testing::TestWithParam<int> {};

TEST_P(CellsAgree, WithTheReferenceOnRandomTraces) {
  for_each_seed(GetParam(), number_of_traces(), [](std::uint64_t seed) {
    expect_agreement(generate_trace(small_everything(seed)), seed, judge_cells);
  });
}

// Many threads, single words, few synchronisations: entries beyond two, bytes
// apart, whole-word writes over all of it.
TEST_P(CellsAgree, WithTheReferenceOnCrowdedWords) {
  std::uint64_t extended = 0;
  std::uint64_t collapsed = 0;
  for_each_seed(GetParam(), number_of_traces() / 8, [&](std::uint64_t seed) {
    GeneratorOptions options = small_everything(seed);
    options.threads = 9;
    options.variables = 2;
    options.events = 60 + seed % 100;
    options.race_density = seed % 3 == 0 ? 0.1 : seed % 3 == 1 ? 0.5 : 1;
    options.read_fraction = seed % 4 == 0 ? 0.9 : 0.6;
    options.switch_rate = 0.9;
    options.sizes = AccessSizes::kMixed;
    const std::vector<Event> trace = generate_trace(options);
    expect_agreement(trace, seed, judge_cells);
    CellDetector<PlainSlots> cells(random_cell_options(seed), ReleaseSequences::kCpp11);
    cells.process(trace);
    for (const Counter& counter : cells.counters()) {
      if (counter.name == "extended") extended += counter.value;
      if (counter.name == "collapsed") collapsed += counter.value;
    }
  });
  if (has_one_seed()) return;
  EXPECT_GT(extended, 100U) << "the traces do not reach what the test is about";
  EXPECT_GT(collapsed, 20U) << "the traces do not reach what the test is about";
}

GeneratorOptions slot_trace(std::uint64_t seed) {
  GeneratorOptions options = small_everything(seed);
  options.events = 40 + seed % 160;
  options.threads = 2 + static_cast<std::uint32_t>(seed / 2 % 3);
  options.mix = {.access = 40, .lock = 25, .semaphore = 10, .thread = 25};
  return options;
}

constexpr SlotLimits kTiny = {8, 7, 4};

std::string judge_recycling(std::span<const Event> events, std::uint64_t seed) {
  const std::vector<Event> trace = with_own_sites(events);
  const CellDetectorOptions options = random_cell_options(seed);
  CellDetector<RecycledSlots> cells(options, kTiny);
  cells.process(trace);
  if (cells.slots().lost() != 0) return {};
  if (cells.slots().is_out_of_range()) return "a thread went on in a slot that was used up";
  return judge(cells, cells.contradiction(), trace, options);
}

TEST_P(CellsAgree, WithTheReferenceWhileSlotsAreRecycled) {
  std::uint64_t exact = 0;
  std::uint64_t lost = 0;
  std::uint64_t swept = 0;
  std::uint64_t moved = 0;
  for_each_seed(GetParam(), number_of_traces() / 8, [&](std::uint64_t seed) {
    const std::vector<Event> trace = generate_trace(slot_trace(seed));
    expect_agreement(trace, seed, judge_recycling);
    CellDetector<RecycledSlots> cells(random_cell_options(seed), kTiny);
    cells.process(trace);
    const bool is_exact = cells.slots().lost() == 0;
    exact += is_exact ? 1 : 0;
    lost += is_exact ? 0 : 1;
    swept += is_exact && cells.slots().sweeps() != 0 ? 1 : 0;
    moved += is_exact && cells.slots().moves() != 0 ? 1 : 0;
  });
  if (has_one_seed()) return;
  EXPECT_GT(exact, lost) << "too many traces force a slot";
  EXPECT_GT(swept * 10, exact) << "too few traces sweep";
  EXPECT_GT(moved * 10, exact) << "too few threads use a slot up";
}

INSTANTIATE_TEST_SUITE_P(Shard, CellsAgree, testing::Range(0, kShards));

}  // namespace
}  // namespace deadheat
