// SPDX-License-Identifier: Apache-2.0
#include "report/store_json.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "report/finding_json.h"
#include "report/json_parts.h"

namespace deadheat {

using Json = nlohmann::ordered_json;

namespace {

Json share_or_null(const std::optional<double>& share) { return share ? Json(*share) : Json(nullptr); }

Json record_of(const RaceRow& row) {
  return {{"state", word_of(row.state)},
          {"note", row.note},
          {"occurrences", row.race.occurrences},
          {"first_seen", row.first_seen},
          {"last_seen", row.last_seen},
          {"runs", row.runs},
          {"modes", row.modes},
          {"rate", share_or_null(row.rate)}};
}

Json seen_of(const RaceDetails::Seen& seen) {
  return {{"run", seen.run.id},
          {"mode", seen.run.mode},
          {"program", seen.run.program},
          {"machine", seen.run.machine},
          {"first_seen", seen.sighting.first_seen},
          {"occurrences", seen.sighting.occurrences},
          {"effective_rate", share_or_null(seen.run.effective_rate)}};
}

}  // namespace

Json race_row_json(const RaceRow& row) {
  Json out = {{"fingerprint", row.race.fingerprint}, {"kind", row.race.kind},       {"title", row.race.title},
              {"variable", row.race.variable},       {"earlier", row.race.earlier}, {"later", row.race.later}};
  out.update(record_of(row));
  return out;
}

Json race_details_json(const RaceDetails& details) {
  const Sighting& race = details.row.race;
  Json out = Json::parse(race.document, nullptr, false);
  // A store that somebody wrote into: better without details than without the race.
  if (!out.is_object()) out = {{"fingerprint", race.fingerprint}, {"kind", race.kind}, {"title", race.title}};
  out["record"] = record_of(details.row);
  out["record"]["history"] = Json::array();
  for (const RaceDetails::Seen& seen : details.history) out["record"]["history"].push_back(seen_of(seen));
  return out;
}

Json run_row_json(const RunRow& row) {
  return {{"id", row.run.id},
          {"mode", row.run.mode},
          {"program", row.run.program},
          {"machine", row.run.machine},
          {"tool", row.run.tool},
          {"started", row.run.started},
          {"duration", row.run.duration ? Json(*row.run.duration) : Json(nullptr)},
          {"rate", share_or_null(row.run.rate)},
          {"effective_rate", share_or_null(row.run.effective_rate)},
          {"overhead", share_or_null(row.run.overhead)},
          {"status", row.run.status},
          {"races", row.races},
          {"new_races", row.new_races}};
}

std::string format_store_report(const std::string& tool_version, const std::string& place,
                                const std::vector<RaceDetails>& races, const std::vector<RunRow>& runs) {
  Json document;
  document["version"] = kJsonReportVersion;
  document["tool"] = {{"name", "deadheat"}, {"version", tool_version}};
  document["store"] = {{"place", place}};
  std::uint64_t occurrences = 0;
  for (const RaceDetails& race : races) occurrences += race.row.race.occurrences;
  document["summary"] = {{"races", races.size()}, {"occurrences", occurrences}};
  document["counters"] = Json::object();
  document["findings"] = Json::array();
  for (const RaceDetails& race : races) document["findings"].push_back(race_details_json(race));
  document["runs"] = Json::array();
  for (const RunRow& run : runs) document["runs"].push_back(run_row_json(run));
  return text_of_document(document);
}

}  // namespace deadheat
