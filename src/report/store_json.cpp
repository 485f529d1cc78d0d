// SPDX-License-Identifier: Apache-2.0
#include "report/store_json.h"

#include "report/describe.h"
#include "report/finding_json.h"
#include "report/json_parts.h"
#include "report/json_text.h"
#include "report/store_words.h"

namespace deadheat {

using Json = nlohmann::ordered_json;

Json race_row_json(const RaceRow& row) {
  RaceRow brief = row;
  brief.race.document.clear();
  Json out = json_of_race(brief);
  out["kind"] = row.race.kind;
  out["title"] = row.race.title;
  out["variable"] = row.race.variable;
  out["earlier"] = row.race.earlier;
  out["later"] = row.race.later;
  return out;
}

Json race_details_json(const RaceDetails& details) {
  Json out = json_of_race(details.row);
  // A store that somebody wrote into: better without details than without the race.
  if (!out.contains("kind")) {
    out["kind"] = details.row.race.kind;
    out["title"] = details.row.race.title;
  }
  Json& sightings = out["history"]["sightings"] = Json::array();
  for (const RaceDetails::Seen& seen : details.history) {
    sightings.push_back({{"run", json_of_run(seen.run)},
                         {"occurrences", seen.sighting.occurrences},
                         {"first_seen", iso_time(seen.sighting.first_seen)}});
  }
  return out;
}

Json run_row_json(const RunRow& row) {
  Json out = json_of_run(row.run);
  out["races"] = row.races;
  out["new_races"] = row.new_races;
  return out;
}

Json store_document(const std::string& tool_version, const std::string& place, Json findings) {
  std::uint64_t occurrences = 0;
  for (const Json& finding : findings) occurrences += finding["occurrences"].get<std::uint64_t>();
  Json document;
  document["version"] = kJsonReportVersion;
  document["tool"] = {{"name", "deadheat"}, {"version", tool_version}};
  document["store"] = {{"place", printable(place)}};
  document["summary"] = {{"races", findings.size()}, {"occurrences", occurrences}};
  document["counters"] = Json::object();
  document["findings"] = std::move(findings);
  return document;
}

std::string format_store_report(const std::string& tool_version, const std::string& place,
                                const std::vector<RaceDetails>& races, const std::vector<RunRow>& runs) {
  Json findings = Json::array();
  for (const RaceDetails& race : races) findings.push_back(race_details_json(race));
  Json document = store_document(tool_version, place, std::move(findings));
  document["runs"] = Json::array();
  for (const RunRow& run : runs) document["runs"].push_back(run_row_json(run));
  return text_of_document(document);
}

}  // namespace deadheat
