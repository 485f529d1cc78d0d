// SPDX-License-Identifier: Apache-2.0
#include "report/store_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ctime>

#include "report/describe.h"
#include "report/finding_json.h"
#include "report/json_parts.h"
#include "report/json_text.h"
#include "report/store_json.h"

namespace deadheat {

namespace {

using StoreJson = nlohmann::ordered_json;

std::string time_as(Microseconds time, const char* form) {
  const auto seconds = static_cast<std::time_t>(time / 1'000'000);
  std::tm parts{};
  char text[64] = "";
  if (gmtime_r(&seconds, &parts) == nullptr || std::strftime(text, sizeof text, form, &parts) == 0) return "?";
  return text;
}

}  // namespace

StoreJson json_of_run(const StoredRun& run) {
  StoreJson out;
  out["id"] = run.id;
  out["mode"] = run.mode;
  out["program"] = run.program;
  const StoreJson arguments = parse_json(run.arguments);
  out["arguments"] = arguments.is_array() ? arguments : StoreJson(nullptr);
  out["machine"] = run.machine;
  out["tool"] = run.tool;
  out["started"] = iso_time(run.started);
  out["duration_us"] = value_or_null(run.duration);
  out["rate"] = value_or_null(run.rate);
  out["effective_rate"] = value_or_null(run.effective_rate);
  out["overhead"] = value_or_null(run.overhead);
  out["status"] = run.status;
  return out;
}

StoreJson json_of_race(const RaceRow& row) {
  StoreJson out = parse_json(row.race.document);
  if (!out.is_object()) out = StoreJson{{"fingerprint", row.race.fingerprint}};
  out["occurrences"] = row.race.occurrences;
  StoreJson& history = out["history"];
  history["state"] = word_of(row.state);
  history["note"] = row.note;
  history["first_seen"] = iso_time(row.first_seen);
  history["last_seen"] = iso_time(row.last_seen);
  history["first_run"] = row.first_run;
  history["last_run"] = row.last_run;
  history["runs"] = row.runs;
  history["modes"] = row.modes;
  history["rate"] = value_or_null(row.rate);
  return out;
}

std::string describe_time(Microseconds time) { return time_as(time, "%Y-%m-%d %H:%M:%S"); }
std::string iso_time(Microseconds time) { return time_as(time, "%Y-%m-%dT%H:%M:%SZ"); }

std::string describe_sightings(const RaceRow& row) {
  std::string words = fmt::format("seen {} in {} ({})", counted(row.race.occurrences, "time"), counted(row.runs, "run"),
                                  fmt::join(row.modes, ", "));
  if (row.rate) words += fmt::format(", at a rate of {}", describe_share(*row.rate));
  return words + fmt::format("; first {}, last {}", describe_time(row.first_seen), describe_time(row.last_seen));
}

std::string format_race_row(const RaceRow& row, ColourMode colour) {
  const Sighting& race = row.race;
  const std::string title = painted(race.title, row.state == RaceState::kOpen ? Paint::kBad : Paint::kGood, colour);
  std::string out =
      fmt::format("{}  {}{}\n", race.fingerprint, title, race.variable.empty() ? "" : " on " + race.variable);
  out += fmt::format("    {}\n    {}\n", race.later, race.earlier);
  out += fmt::format("    {}{}; {}\n", word_of(row.state),
                     row.note.empty() ? "" : fmt::format(" ({})", printable(row.note)), describe_sightings(row));
  return out;
}

std::string format_run_row(const RunRow& row) {
  const StoredRun& run = row.run;
  const std::string races = row.new_races == 0
                                ? counted(row.races, "race")
                                : fmt::format("{}, {} new", counted(row.races, "race"), grouped(row.new_races));
  std::string words = fmt::format("{}  {}  {:<7}  {:<10}  {:<18}", run.id.substr(0, 12), describe_time(run.started),
                                  run.mode, run.status, races);
  if (run.effective_rate) words += fmt::format("  rate {}", describe_share(*run.effective_rate));
  if (run.overhead) words += fmt::format("  cost {}", describe_share(*run.overhead));
  return words + fmt::format("  {}\n", printable(base_name(run.program)));
}

std::string format_store_json(const std::string& tool_version, const std::string& place,
                              const std::vector<RaceRow>& rows) {
  StoreJson findings = StoreJson::array();
  for (const RaceRow& row : rows) findings.push_back(json_of_race(row));
  return text_of_document(store_document(tool_version, place, std::move(findings)));
}

std::string format_race_json(const std::string& tool_version, const std::string& place, const RaceDetails& race) {
  StoreJson finding = race_details_json(race);
  return text_of_document(store_document(tool_version, place, StoreJson::array({std::move(finding)})));
}

std::string format_runs_json(const std::vector<RunRow>& rows) {
  StoreJson runs = StoreJson::array();
  for (const RunRow& row : rows) runs.push_back(run_row_json(row));
  return text_of_document({{"version", kJsonReportVersion}, {"runs", std::move(runs)}});
}

}  // namespace deadheat
