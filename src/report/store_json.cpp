// SPDX-License-Identifier: Apache-2.0
#include "report/store_json.h"

#include <fmt/format.h>

#include <ctime>
#include <nlohmann/json.hpp>
#include <optional>

#include "report/finding_json.h"
#include "report/json_parts.h"

namespace deadheat {

using Json = nlohmann::ordered_json;

namespace {

Json share_or_null(const std::optional<double>& share) { return share ? Json(*share) : Json(nullptr); }

std::string iso_text(Microseconds time) {
  const std::time_t seconds = time / 1'000'000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                     parts.tm_hour, parts.tm_min, parts.tm_sec);
}

Json history_of(const RaceRow& row) {
  return {{"state", word_of(row.state)},
          {"note", row.note},
          {"first_seen", iso_text(row.first_seen)},
          {"last_seen", iso_text(row.last_seen)},
          {"first_run", row.first_run},
          {"last_run", row.last_run},
          {"runs", row.runs},
          {"modes", row.modes},
          {"rate", share_or_null(row.rate)}};
}

Json stored_run_of(const StoredRun& run) {
  const Json arguments = Json::parse(run.arguments, nullptr, false);
  return {{"id", run.id},
          {"mode", run.mode},
          {"program", run.program},
          {"arguments", arguments.is_array() ? arguments : Json(nullptr)},
          {"machine", run.machine},
          {"tool", run.tool},
          {"started", iso_text(run.started)},
          {"duration_us", run.duration ? Json(*run.duration) : Json(nullptr)},
          {"rate", share_or_null(run.rate)},
          {"effective_rate", share_or_null(run.effective_rate)},
          {"overhead", share_or_null(run.overhead)},
          {"status", run.status}};
}

}  // namespace

Json race_row_json(const RaceRow& row) {
  const Sighting& race = row.race;
  return {{"fingerprint", race.fingerprint}, {"kind", race.kind},         {"title", race.title},
          {"variable", race.variable},       {"earlier", race.earlier},   {"later", race.later},
          {"occurrences", race.occurrences}, {"history", history_of(row)}};
}

Json race_details_json(const RaceDetails& details) {
  const Sighting& race = details.row.race;
  Json out = Json::parse(race.document, nullptr, false);
  // A store that somebody wrote into: better without details than without the race.
  if (!out.is_object()) out = {{"fingerprint", race.fingerprint}, {"kind", race.kind}, {"title", race.title}};
  out["occurrences"] = race.occurrences;
  out["history"] = history_of(details.row);
  out["history"]["sightings"] = Json::array();
  for (const auto& [run, sighting] : details.history) {
    out["history"]["sightings"].push_back({{"run", stored_run_of(run)},
                                           {"occurrences", sighting.occurrences},
                                           {"first_seen", iso_text(sighting.first_seen)}});
  }
  return out;
}

Json run_row_json(const RunRow& row) {
  Json out = stored_run_of(row.run);
  out["races"] = row.races;
  out["new_races"] = row.new_races;
  return out;
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
