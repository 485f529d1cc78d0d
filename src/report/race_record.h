// SPDX-License-Identifier: Apache-2.0
// Races on their way into the store, and back.
#pragma once

#include <string>

#include "base/result.h"
#include "model/dictionary.h"
#include "model/finding.h"
#include "report/access_census.h"
#include "report/live_report.h"
#include "store/records.h"

namespace deadheat {

[[nodiscard]] Sighting sighting_of(const LiveRace& race);
// `context` may be null.
[[nodiscard]] Sighting sighting_of(const Finding& finding, const Dictionary& dictionary,
                                   const AccessContext* context = nullptr);

// A document of "findings" as the race that it was written of, for those who show races in
// words. What only the detector needs (clocks, sweeps of other detectors) may be missing. Errors: kMalformed.
[[nodiscard]] Result<LiveRace> race_of_document(const std::string& document);

}  // namespace deadheat
