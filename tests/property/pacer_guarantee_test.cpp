// SPDX-License-Identifier: Apache-2.0
// PACER's two theorems on random traces with random periods, each thread its own:
// what is a sampled shortest race is reported by the time of its second access, and
// what is reported is a race, true in every detail. With everything sampled it is
// FastTrack.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/detector.h"
#include "property/random_periods.h"
#include "property/random_traces.h"
#include "support/shortest_races.h"
#include "trace/trace_checker.h"
#include "trace/trace_generator.h"

namespace deadheat {
namespace {

bool contains(const std::vector<Detector::Range>& ranges, Address byte) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](const Detector::Range& range) { return range.begin <= byte && byte < range.end; });
}

// What the traces of a shard had to offer: a test of nothing must not pass.
struct Coverage {
  std::uint64_t traces = 0;
  std::uint64_t sampled_races = 0;   // second accesses of sampled shortest races
  std::uint64_t unsampled_racy = 0;  // traces with races and no report
};
Coverage coverage;

// Empty if both theorems hold for the trace, whose periods are in it.
std::string judge_guarantee(std::span<const Event> events, std::uint64_t seed) {
  const std::vector<Event> trace = with_own_sites(events);
  const DetectorOptions options{rule_for(seed)};
  const ShortestRaces races(trace, options.release_sequences);
  const auto pacer = make_detector(DetectorKind::kPacer, options);
  for (std::uint64_t index = 0; index < trace.size(); ++index) {
    pacer->process(std::span(&trace[index], 1));
    if (races.sampled_at(index).empty()) continue;
    ++coverage.sampled_races;
    const std::vector<Detector::Range> reported = pacer->racy_bytes();
    for (const Address byte : races.sampled_at(index)) {
      if (contains(reported, byte)) continue;
      return "the event " + std::to_string(index) + " ends a sampled shortest race on byte " + std::to_string(byte) +
             ", and nothing is reported of it; reported are" + describe_ranges(reported);
    }
  }
  if (!races.racy_bytes().empty() && pacer->findings().empty()) ++coverage.unsampled_racy;
  for (const Detector::Range& range : pacer->racy_bytes()) {
    for (Address byte = range.begin; byte < range.end; ++byte) {
      if (!races.racy_bytes().contains(byte)) return "byte " + std::to_string(byte) + " is reported and has no race";
    }
  }
  if (pacer->findings().empty()) return {};
  return check_findings("pacer", *pacer, OrderOracle(trace, options.release_sequences));
}

// Empty if PACER that samples everything finds what FastTrack finds.
std::string judge_full_rate(std::span<const Event> events, std::uint64_t seed) {
  const std::vector<Event> trace = with_own_sites(events);
  DetectorOptions options{rule_for(seed)};
  const auto fasttrack = make_detector(DetectorKind::kFastTrack, options);
  fasttrack->process(trace);
  options.sampling = SamplingPlan{.rate = 1, .seed = seed, .period = 1 + seed % 7};
  const auto pacer = make_detector(DetectorKind::kPacer, options);
  pacer->process(trace);
  if (std::string wrong = compare_bytes("pacer at 100%", *pacer, *fasttrack); !wrong.empty()) return wrong;
  if (pacer->findings().size() == fasttrack->findings().size()) return {};
  return "pacer at 100%: " + std::to_string(pacer->findings().size()) + " findings, fasttrack " +
         std::to_string(fasttrack->findings().size());
}

void check_traces(const GeneratorOptions& options, std::uint64_t seed) {
  const std::vector<Event> trace = generate_trace(options);
  const std::vector<Event> sampled = with_periods(trace, seed);
  ++coverage.traces;
  if (seed % 16 == 0) {
    TraceChecker checker;
    const Status status = checker.check(std::span<const Event>(sampled));
    ASSERT_TRUE(status.ok()) << "seed " << seed << ": " << status.error().message;
  }
  expect_agreement(sampled, seed, judge_guarantee);
  if (!testing::Test::HasFatalFailure()) expect_agreement(trace, seed, judge_full_rate);
}

class PacerGuarantee : public testing::TestWithParam<int> {
 protected:
  PacerGuarantee() { coverage = {}; }
  ~PacerGuarantee() override {
    if (has_one_seed() || HasFatalFailure() || coverage.traces < 500) return;
    EXPECT_GT(coverage.sampled_races, coverage.traces / 4);
    EXPECT_GT(coverage.unsampled_racy, coverage.traces / 50);
  }
};

TEST_P(PacerGuarantee, OnRandomTraces) {
  for_each_seed(GetParam(), number_of_traces() / 4 * 3,
                [](std::uint64_t seed) { check_traces(small_everything(seed), seed); });
}

// Few variables, few locks, threads that take turns: clocks are handed around
// while periods come and go.
TEST_P(PacerGuarantee, OnCrowdedVariables) {
  for_each_seed(GetParam(), number_of_traces() / 8, [](std::uint64_t seed) {
    GeneratorOptions options = small_everything(seed);
    options.threads = 3 + static_cast<std::uint32_t>(seed % 4);
    options.variables = 2;
    options.locks = 2;
    options.events = 60 + seed % 100;
    options.race_density = seed % 3 == 0 ? 0.05 : seed % 3 == 1 ? 0.2 : 0.5;
    options.switch_rate = seed % 2 == 0 ? 0.3 : 0.7;
    check_traces(options, seed);
  });
}

INSTANTIATE_TEST_SUITE_P(Shard, PacerGuarantee, testing::Range(0, kShards));

}  // namespace
}  // namespace deadheat
