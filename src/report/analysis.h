// SPDX-License-Identifier: Apache-2.0
// Analysis: all that a report of one run over one trace needs to know. The
// writers (finding_text.h, finding_json.h) read it and nothing else, so that
// every form of report tells the same story.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/detector.h"
#include "model/dictionary.h"
#include "model/finding.h"
#include "report/access_census.h"
#include "report/sampling_guarantee.h"
#include "report/suppressions.h"

namespace deadheat {

struct Analysis {
  std::string tool_version;
  std::string trace_path;
  std::string detector_name;  // as the user names it: "fasttrack"
  ReleaseSequences release_sequences = ReleaseSequences::kCpp11;

  std::uint64_t event_count = 0;
  std::uint64_t thread_count = 0;
  std::uint64_t access_count = 0;  // of memory, atomic ones included; 0: nothing was looked at
  // Set by who knows that nothing could be compared, and why: "no sample was taken".
  std::optional<std::string> nothing_seen;
  // Set when only a prefix of the trace was analysed: one sentence that says why.
  std::optional<std::string> incomplete;

  // Set when the detector samples.
  std::optional<SampledShare> sampled;

  std::vector<Finding> findings;
  // Of each finding; empty when the trace was not read again.
  std::vector<AccessContext> contexts;
  std::vector<Counter> counters;
  Dictionary dictionary;

  // What the user does not want to hear of; set by hide_suppressed().
  Suppressions suppressions;
  std::uint64_t suppressed_count = 0;
};

// One finding of those that have one fingerprint, with the occurrences of all.
void merge_same_races(Analysis& analysis);

// Takes the findings out that a suppression matches, and counts them. Before contexts are made.
void hide_suppressed(Analysis& analysis, Suppressions suppressions);

// Why the analysis says nothing about races, as a sentence without its end: it had no access to compare. Nothing if it
// says something.
[[nodiscard]] std::optional<std::string> why_nothing_seen(const Analysis& analysis);

// Of the finding of that number; null when there is none.
[[nodiscard]] inline const AccessContext* context_of(const Analysis& analysis, std::size_t index) {
  return index < analysis.contexts.size() ? &analysis.contexts[index] : nullptr;
}

// The share as a number from 0 to 1; 0 of nothing.
[[nodiscard]] inline double effective_rate(const SampledShare& share) { return share_of(share.sampled, share.all); }

// Of all findings together, repetitions included.
[[nodiscard]] inline std::uint64_t total_occurrences(const std::vector<Finding>& findings) {
  std::uint64_t total = 0;
  for (const Finding& finding : findings) total += finding.occurrences;
  return total;
}

}  // namespace deadheat
