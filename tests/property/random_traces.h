// SPDX-License-Identifier: Apache-2.0
// What the tests on random traces share: which traces, what is compared, and
// what a failure shows.
//
// DEADHEAT_TEST_TRACES is the number of traces over all shards, 200,000 by
// default; DEADHEAT_TEST_SEED runs the one trace of that seed.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "core/detector.h"
#include "support/order_oracle.h"
#include "support/shrink.h"
#include "trace/text_writer.h"

namespace deadheat {

inline constexpr int kShards = 8;

inline bool has_one_seed() { return std::getenv("DEADHEAT_TEST_SEED") != nullptr; }

inline std::uint64_t number_of_traces() {
  const char* text = std::getenv("DEADHEAT_TEST_TRACES");
  return text == nullptr ? 200'000 : std::strtoull(text, nullptr, 0);
}

inline ReleaseSequences rule_for(std::uint64_t seed) {
  return seed % 2 == 0 ? ReleaseSequences::kCpp11 : ReleaseSequences::kCpp20;
}

// Calls check(seed) for the shard's part of the seeds, until a fatal failure.
template <class Check>
void for_each_seed(int shard, std::uint64_t traces, Check&& check) {
  if (has_one_seed()) return check(std::strtoull(std::getenv("DEADHEAT_TEST_SEED"), nullptr, 0));
  for (std::uint64_t number = 0; number < traces / kShards; ++number) {
    check(static_cast<std::uint64_t>(shard) + number * kShards);
    if (testing::Test::HasFatalFailure()) return;
  }
}

// With the sites that the oracle asks for.
inline std::vector<Event> with_own_sites(std::span<const Event> events) {
  std::vector<Event> trace(events.begin(), events.end());
  for (std::uint64_t index = 0; index < trace.size(); ++index) {
    if (trace[index].kind != EventKind::kFunctionEnter) trace[index].site = site_of_event(index);
  }
  return trace;
}

inline std::string describe_ranges(const std::vector<Detector::Range>& ranges) {
  std::string result;
  for (const Detector::Range& range : ranges) {
    result += " [" + std::to_string(range.begin) + ", " + std::to_string(range.end) + ")";
  }
  return result.empty() ? " none" : result;
}

// Empty if both found the same racy bytes.
inline std::string compare_bytes(const std::string& name, const Detector& detector, const Detector& reference) {
  if (detector.racy_bytes() == reference.racy_bytes()) return {};
  return name + ": racy bytes" + describe_ranges(detector.racy_bytes()) +
         "; the reference:" + describe_ranges(reference.racy_bytes());
}

// Empty if every finding is a true race, true in every detail.
inline std::string check_findings(const std::string& name, const Detector& detector, const OrderOracle& oracle) {
  for (const Finding& finding : detector.findings()) {
    const std::string wrong = oracle.refute(finding);
    if (wrong.empty()) continue;
    return name + ": a race of the events " + std::to_string(event_of_site(finding.earlier.site)) + " and " +
           std::to_string(event_of_site(finding.later.site)) + ", but: " + wrong;
  }
  return {};
}

// What is wrong with the verdicts on a trace, empty for nothing; the seed decides
// about options.
using Judgement = std::string (*)(std::span<const Event>, std::uint64_t seed);

// Fails, with a small trace that fails as well, unless nothing is wrong.
inline void expect_agreement(const std::vector<Event>& trace, std::uint64_t seed, Judgement judgement) {
  if (judgement(trace, seed).empty()) return;
  const std::vector<Event> small =
      shrink(trace, [&](std::span<const Event> events) { return !judgement(events, seed).empty(); });
  std::string text;
  for (const Event& event : small) text += to_text(event, Dictionary{}) + "\n";
  FAIL() << "seed " << seed << " (repeat with DEADHEAT_TEST_SEED=" << seed << ")\n"
         << judgement(small, seed) << "\nshrunk from " << trace.size() << " to " << small.size() << " events:\n"
         << text;
}

}  // namespace deadheat
