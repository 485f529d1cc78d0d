// SPDX-License-Identifier: Apache-2.0
// What the store knows, as JSON: for the page and its server. For their sources only: the library
// behind it is slow to compile.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "store/records.h"

namespace deadheat {

// "stored_run" of docs/report.schema.json.
[[nodiscard]] nlohmann::ordered_json json_of_run(const StoredRun& run);
// A document with its "history", without the sightings of single runs.
[[nodiscard]] nlohmann::ordered_json json_of_race(const RaceRow& row);

// A race as the list shows it, without its document.
[[nodiscard]] nlohmann::ordered_json race_row_json(const RaceRow& row);
// Its document, with "history": what the runs together say about it.
[[nodiscard]] nlohmann::ordered_json race_details_json(const RaceDetails& details);
[[nodiscard]] nlohmann::ordered_json run_row_json(const RunRow& row);

// A report in the form of docs/report.schema.json: "store" stands where one of a run has "run".
[[nodiscard]] nlohmann::ordered_json store_document(const std::string& tool_version, const std::string& place,
                                                    nlohmann::ordered_json findings);
// A report of all of these, and of the runs.
[[nodiscard]] std::string format_store_report(const std::string& tool_version, const std::string& place,
                                              const std::vector<RaceDetails>& races, const std::vector<RunRow>& runs);

}  // namespace deadheat
