// SPDX-License-Identifier: Apache-2.0
#include "report/analysis.h"

#include <fmt/format.h>

#include <map>
#include <string>
#include <utility>

#include "report/describe.h"
#include "report/fingerprint.h"

namespace deadheat {

void merge_same_races(Analysis& analysis) {
  std::map<std::string, std::size_t> known;
  std::vector<Finding> merged;
  for (Finding& finding : analysis.findings) {
    const auto [found, is_new] = known.emplace(fingerprint_of(finding, analysis.dictionary), merged.size());
    if (is_new) {
      merged.push_back(std::move(finding));
    } else {
      merged[found->second].occurrences += finding.occurrences;
    }
  }
  analysis.findings = std::move(merged);
}

void hide_suppressed(Analysis& analysis, Suppressions suppressions) {
  const std::size_t before = analysis.findings.size();
  std::erase_if(analysis.findings, [&](const Finding& finding) {
    const auto place = name_of(finding.address, analysis.dictionary);
    Suppression* const hit = suppressions.match(finding, analysis.dictionary, place ? place->name : std::string());
    if (hit != nullptr) ++hit->matches;
    return hit != nullptr;
  });
  analysis.suppressed_count += before - analysis.findings.size();
  analysis.suppressions = std::move(suppressions);
}

std::optional<std::string> why_nothing_seen(const Analysis& analysis) {
  if (!analysis.findings.empty() || analysis.suppressed_count != 0) return std::nullopt;
  if (analysis.nothing_seen) return analysis.nothing_seen;
  if (analysis.event_count == 0) return "the trace has no events";
  if (analysis.access_count == 0) {
    return fmt::format("no access to memory is among its {}", counted(analysis.event_count, "event"));
  }
  if (analysis.sampled && analysis.sampled->sampled == 0) return "no access was sampled";
  return std::nullopt;
}

}  // namespace deadheat
