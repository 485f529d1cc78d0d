// SPDX-License-Identifier: Apache-2.0
// PACER's two theorems for the rules of the online detector, on random traces with
// random periods: what is a sampled shortest race is reported, what is reported is a
// race; and no cell is empty at first sight that has entries.
#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "property/cell_detector.h"
#include "property/random_periods.h"
#include "property/random_traces.h"
#include "support/shortest_races.h"
#include "trace/trace_generator.h"

namespace deadheat {
namespace {

// A test of nothing must not pass.
struct CellsCoverage {
  std::uint64_t traces = 0;
  std::uint64_t sampled_races = 0;  // traces with a sampled shortest race
  std::uint64_t quiet = 0;          // traces with races and no report
};
CellsCoverage cells_coverage;

std::string judge_sampled_cells(std::span<const Event> events, std::uint64_t seed) {
  const std::vector<Event> trace = with_own_sites(events);
  const CellDetectorOptions options = random_cell_options(seed);
  const ShortestRaces races(trace, options.release_sequences);
  CellDetector<SampledSlots> cells(options, options.release_sequences);
  cells.process(trace);
  if (!cells.contradiction().empty()) return cells.contradiction();
  std::set<Address> reported;
  for (const Detector::Range& range : cells.racy_bytes()) {
    for (Address byte = range.begin; byte < range.end; ++byte) reported.insert(byte);
  }
  bool has_sampled_race = false;
  for (std::uint64_t index = 0; index < trace.size(); ++index) {
    for (const Address byte : races.sampled_at(index)) {
      has_sampled_race = true;
      if (reported.contains(byte)) continue;
      return "the event " + std::to_string(index) + " ends a sampled shortest race on byte " + std::to_string(byte) +
             ", and nothing is reported of it; reported are" + describe_ranges(cells.racy_bytes());
    }
  }
  for (const Address byte : reported) {
    if (!races.racy_bytes().contains(byte)) return "byte " + std::to_string(byte) + " is reported and has no race";
  }
  cells_coverage.sampled_races += has_sampled_race ? 1 : 0;
  cells_coverage.quiet += !races.racy_bytes().empty() && reported.empty() ? 1 : 0;
  if (reported.empty() || options.origins == OriginNumbers::kFew) return {};
  return check_findings("cells", cells, OrderOracle(trace, options.release_sequences));
}

void check_sampled_cells(const GeneratorOptions& options, std::uint64_t seed) {
  ++cells_coverage.traces;
  expect_agreement(with_periods(generate_trace(options), seed), seed, judge_sampled_cells);
}

class CellsGuarantee : public testing::TestWithParam<int> {
 protected:
  CellsGuarantee() { cells_coverage = {}; }
  ~CellsGuarantee() override {
    if (has_one_seed() || HasFatalFailure() || cells_coverage.traces < 500) return;
    EXPECT_GT(cells_coverage.sampled_races, cells_coverage.traces / 8);
    EXPECT_GT(cells_coverage.quiet, cells_coverage.traces / 50);
  }
};

TEST_P(CellsGuarantee, OnRandomTraces) {
  for_each_seed(GetParam(), number_of_traces() / 4 * 3,
                [](std::uint64_t seed) { check_sampled_cells(small_everything(seed), seed); });
}

// Many threads on a few words: cells grow beyond two entries and shrink again while
// periods come and go.
TEST_P(CellsGuarantee, OnCrowdedWords) {
  for_each_seed(GetParam(), number_of_traces() / 4, [](std::uint64_t seed) {
    GeneratorOptions options = small_everything(seed);
    options.threads = 3 + static_cast<std::uint32_t>(seed % 5);
    options.variables = 2;
    options.locks = 2;
    options.events = 80 + seed % 100;
    options.race_density = seed % 3 == 0 ? 0.05 : seed % 3 == 1 ? 0.2 : 0.5;
    options.switch_rate = seed % 2 == 0 ? 0.3 : 0.7;
    check_sampled_cells(options, seed);
  });
}

INSTANTIATE_TEST_SUITE_P(Shard, CellsGuarantee, testing::Range(0, kShards));

}  // namespace
}  // namespace deadheat
