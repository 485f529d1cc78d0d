// SPDX-License-Identifier: Apache-2.0
#include "report/analysis.h"

#include <utility>

#include "report/describe.h"

namespace deadheat {

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

}  // namespace deadheat
