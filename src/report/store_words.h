// SPDX-License-Identifier: Apache-2.0
// What the store holds, in words, as JSON, and as a file that another store can take in.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "report/text_layout.h"
#include "store/records.h"

namespace deadheat {

// "2026-11-17 22:20:58" (UTC), and the same as ISO 8601: "2026-11-17T22:20:58Z".
[[nodiscard]] std::string describe_time(Microseconds time);
[[nodiscard]] std::string iso_time(Microseconds time);

// Four lines for a race, one for a run.
[[nodiscard]] std::string format_race_row(const RaceRow& row, ColourMode colour);
[[nodiscard]] std::string format_run_row(const RunRow& row);
// How often and where a race was seen: "seen 7 times in 2 runs (hunt, run); first ..., last ...".
[[nodiscard]] std::string describe_sightings(const RaceRow& row);

// Races with their documents, in the form of docs/report.schema.json: "store" stands where a
// report of a run has "run", and findings have a "history".
[[nodiscard]] std::string format_store_json(const std::string& tool_version, const std::string& place,
                                            const std::vector<RaceRow>& rows);
// The same of one race, whose "history" has every run.
[[nodiscard]] std::string format_race_json(const std::string& tool_version, const std::string& place,
                                           const RaceDetails& race);
[[nodiscard]] std::string format_runs_json(const std::vector<RunRow>& rows);

// docs/store.md describes the file. Errors: kMalformed, kUnsupported (a newer version).
[[nodiscard]] std::string format_export(const StoreContent& content);
[[nodiscard]] Result<StoreContent> parse_export(const std::string& text);

}  // namespace deadheat
