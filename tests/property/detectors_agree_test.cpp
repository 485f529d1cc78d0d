// SPDX-License-Identifier: Apache-2.0
// Random traces of all event kinds through every detector: the same racy bytes
// as the reference, every reported pair a true race with the true stack and
// locks, and no report where the generator kept to its discipline.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "core/detector.h"
#include "property/random_traces.h"
#include "trace/trace_generator.h"

namespace deadheat {
namespace {

// Empty if all detectors agree on the trace, else the first disagreement.
std::string judge_detectors(std::span<const Event> events, std::uint64_t seed) {
  const std::vector<Event> trace = with_own_sites(events);
  const DetectorOptions options{rule_for(seed)};
  const auto reference = make_detector(DetectorKind::kReference, options);
  reference->process(trace);
  const OrderOracle oracle(trace, options.release_sequences);
  if (std::string wrong = check_findings("reference", *reference, oracle); !wrong.empty()) return wrong;
  for (const auto& [kind, name] : {std::pair{DetectorKind::kFastTrack, "fasttrack"},
                                   {DetectorKind::kSlimState, "slimstate"},
                                   {DetectorKind::kDjit, "djit"}}) {
    const auto detector = make_detector(kind, options);
    detector->process(trace);
    detector->finish();
    if (std::string wrong = compare_bytes(name, *detector, *reference); !wrong.empty()) return wrong;
    if (std::string wrong = check_findings(name, *detector, oracle); !wrong.empty()) return wrong;
  }
  return {};
}

void check_seed(std::uint64_t seed) {
  const GeneratorOptions options = small_everything(seed);
  const std::vector<Event> trace = generate_trace(options);
  expect_agreement(trace, seed, judge_detectors);
  if (testing::Test::HasFatalFailure() || options.race_density != 0) return;
  const auto reference = make_detector(DetectorKind::kReference, DetectorOptions{ReleaseSequences::kCpp20});
  reference->process(trace);
  EXPECT_TRUE(reference->findings().empty()) << "seed " << seed << ": a trace made without races has one";
}

class DetectorsAgree : public testing::TestWithParam<int> {};

TEST_P(DetectorsAgree, OnRandomTraces) { for_each_seed(GetParam(), number_of_traces(), check_seed); }

INSTANTIATE_TEST_SUITE_P(Shard, DetectorsAgree, testing::Range(0, kShards));

}  // namespace
}  // namespace deadheat
