// SPDX-License-Identifier: Apache-2.0
// Random traces of all event kinds through every detector: the same racy bytes
// as the reference, every reported pair a true race with the true stack and
// locks, and no report where the generator kept to its discipline.
//
// DEADHEAT_TEST_TRACES is the number of traces over all shards, 200,000 by
// default; DEADHEAT_TEST_SEED runs the one trace of that seed.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "core/detector.h"
#include "support/order_oracle.h"
#include "support/shrink.h"
#include "trace/text_writer.h"
#include "trace/trace_generator.h"

namespace deadheat {
namespace {

constexpr std::uint64_t kTraces = 200'000;
constexpr int kShards = 8;

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 0);
}

std::vector<Event> with_own_sites(std::vector<Event> trace) {
  for (std::uint64_t index = 0; index < trace.size(); ++index) {
    if (trace[index].kind != EventKind::kFunctionEnter) trace[index].site = site_of_event(index);
  }
  return trace;
}

std::string describe(const std::vector<Detector::Range>& ranges) {
  std::string result;
  for (const Detector::Range& range : ranges) {
    result += " [" + std::to_string(range.begin) + ", " + std::to_string(range.end) + ")";
  }
  return result.empty() ? " none" : result;
}

// Empty if all detectors agree on the trace, else the first disagreement.
std::string disagreement(std::span<const Event> events, ReleaseSequences release_sequences) {
  const std::vector<Event> trace = with_own_sites({events.begin(), events.end()});
  const DetectorOptions options{release_sequences};
  const auto reference = make_detector(DetectorKind::kReference, options);
  reference->process(trace);
  const OrderOracle oracle(trace, release_sequences);
  const auto check_reports = [&](const Detector& detector, const std::string& name) -> std::string {
    for (const Finding& finding : detector.findings()) {
      const std::string wrong = oracle.refute(finding);
      if (wrong.empty()) continue;
      return name + " reports events " + std::to_string(event_of_site(finding.earlier.site)) + " and " +
             std::to_string(event_of_site(finding.later.site)) + ", but: " + wrong;
    }
    return {};
  };
  if (std::string wrong = check_reports(*reference, "reference"); !wrong.empty()) return wrong;
  for (const auto& [kind, name] : {std::pair{DetectorKind::kFastTrack, "fasttrack"}, {DetectorKind::kDjit, "djit"}}) {
    const auto detector = make_detector(kind, options);
    detector->process(trace);
    if (detector->racy_bytes() != reference->racy_bytes()) {
      return std::string(name) + " finds racy bytes" + describe(detector->racy_bytes()) + ", the reference" +
             describe(reference->racy_bytes());
    }
    if (std::string wrong = check_reports(*detector, name); !wrong.empty()) return wrong;
  }
  return {};
}

void check_seed(std::uint64_t seed) {
  const GeneratorOptions options = small_everything(seed);
  const std::vector<Event> trace = generate_trace(options);
  const ReleaseSequences rule = seed % 2 == 0 ? ReleaseSequences::kCpp11 : ReleaseSequences::kCpp20;
  const std::string wrong = disagreement(trace, rule);
  if (!wrong.empty()) {
    const std::vector<Event> small =
        shrink(trace, [&](std::span<const Event> events) { return !disagreement(events, rule).empty(); });
    std::string text;
    for (const Event& event : small) text += to_text(event, Dictionary{}) + "\n";
    FAIL() << "seed " << seed << " (repeat with DEADHEAT_TEST_SEED=" << seed << ")\n"
           << disagreement(small, rule) << "\nshrunk from " << trace.size() << " to " << small.size() << " events:\n"
           << text;
  }
  if (options.race_density != 0) return;
  const auto reference = make_detector(DetectorKind::kReference, DetectorOptions{ReleaseSequences::kCpp20});
  reference->process(trace);
  EXPECT_TRUE(reference->findings().empty()) << "seed " << seed << ": a trace made without races has one";
}

class DetectorsAgree : public testing::TestWithParam<int> {};

TEST_P(DetectorsAgree, OnRandomTraces) {
  if (std::getenv("DEADHEAT_TEST_SEED") != nullptr) return check_seed(from_environment("DEADHEAT_TEST_SEED", 0));
  const std::uint64_t count = from_environment("DEADHEAT_TEST_TRACES", kTraces) / kShards;
  for (std::uint64_t number = 0; number < count; ++number) {
    check_seed(static_cast<std::uint64_t>(GetParam()) + number * kShards);
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Shard, DetectorsAgree, testing::Range(0, kShards));

}  // namespace
}  // namespace deadheat
