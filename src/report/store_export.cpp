// SPDX-License-Identifier: Apache-2.0
// A store as one file of JSON, and back. Times are microseconds, so that nothing is rounded.
#include <fmt/format.h>

#include <optional>

#include "report/json_parts.h"
#include "report/json_text.h"
#include "report/store_words.h"

namespace deadheat {

namespace {

using ExportJson = nlohmann::ordered_json;

constexpr char kFormatName[] = "deadheat-store";
constexpr int kExportVersion = 1;

std::optional<std::int64_t> export_number(const ExportJson& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number_integer()) return std::nullopt;
  return found->get<std::int64_t>();
}

std::optional<double> export_fraction(const ExportJson& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

StoredRun exported_run(const ExportJson& object) {
  StoredRun run;
  run.id = text_member(object, "id");
  run.mode = text_member(object, "mode");
  run.program = text_member(object, "program");
  run.arguments = text_member(object, "arguments");
  run.machine = text_member(object, "machine");
  run.tool = text_member(object, "tool");
  run.started = export_number(object, "started").value_or(0);
  run.duration = export_number(object, "duration");
  run.rate = export_fraction(object, "rate");
  run.effective_rate = export_fraction(object, "effective_rate");
  run.overhead = export_fraction(object, "overhead");
  run.status = text_member(object, "status");
  return run;
}

StoreContent::Race exported_race(const ExportJson& object) {
  StoreContent::Race race;
  race.race.fingerprint = text_member(object, "fingerprint");
  race.race.kind = text_member(object, "kind");
  race.race.title = text_member(object, "title");
  race.race.variable = text_member(object, "variable");
  race.race.earlier = text_member(object, "earlier");
  race.race.later = text_member(object, "later");
  race.state = state_of(text_member(object, "state")).value_or(RaceState::kOpen);
  race.state_since = export_number(object, "state_since").value_or(0);
  race.note = text_member(object, "note");
  race.document_time = export_number(object, "document_time").value_or(0);
  if (object.contains("document")) race.race.document = one_line_of(object["document"]);
  return race;
}

}  // namespace

std::string format_export(const StoreContent& content) {
  ExportJson document;
  document["format"] = kFormatName;
  document["version"] = kExportVersion;
  document["runs"] = ExportJson::array();
  for (const StoredRun& run : content.runs) {
    document["runs"].push_back({{"id", run.id},
                                {"mode", run.mode},
                                {"program", run.program},
                                {"arguments", run.arguments},
                                {"machine", run.machine},
                                {"tool", run.tool},
                                {"started", run.started},
                                {"duration", value_or_null(run.duration)},
                                {"rate", value_or_null(run.rate)},
                                {"effective_rate", value_or_null(run.effective_rate)},
                                {"overhead", value_or_null(run.overhead)},
                                {"status", run.status}});
  }
  document["races"] = ExportJson::array();
  for (const StoreContent::Race& known : content.races) {
    const Sighting& race = known.race;
    document["races"].push_back({{"fingerprint", race.fingerprint},
                                 {"kind", race.kind},
                                 {"title", race.title},
                                 {"variable", race.variable},
                                 {"earlier", race.earlier},
                                 {"later", race.later},
                                 {"state", word_of(known.state)},
                                 {"state_since", known.state_since},
                                 {"note", known.note},
                                 {"document_time", known.document_time},
                                 {"document", parse_json(race.document)}});
    if (document["races"].back()["document"].is_discarded()) document["races"].back()["document"] = nullptr;
  }
  document["sightings"] = ExportJson::array();
  for (const SightingRow& row : content.sightings) {
    document["sightings"].push_back({{"fingerprint", row.fingerprint},
                                     {"run", row.run},
                                     {"occurrences", row.occurrences},
                                     {"first_seen", row.first_seen},
                                     {"last_seen", row.last_seen}});
  }
  return text_of_document(document);
}

Result<StoreContent> parse_export(const std::string& text) {
  const ExportJson document = parse_json(text);
  if (!document.is_object() || text_member(document, "format") != kFormatName) {
    return Error{ErrorCode::kMalformed, "it is no store, and no export of one ('deadheat races export')"};
  }
  const std::int64_t version = export_number(document, "version").value_or(0);
  if (version > kExportVersion) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("the export has version {}, newest known {}", version, kExportVersion)};
  }
  for (const char* const list : {"runs", "races", "sightings"}) {
    if (!document.contains(list) || !document[list].is_array()) {
      return Error{ErrorCode::kMalformed, fmt::format("the export has no list of {}", list)};
    }
  }
  StoreContent content;
  for (const ExportJson& run : document["runs"]) content.runs.push_back(exported_run(run));
  for (const ExportJson& race : document["races"]) content.races.push_back(exported_race(race));
  for (const ExportJson& row : document["sightings"]) {
    content.sightings.push_back({text_member(row, "fingerprint"), text_member(row, "run"),
                                 static_cast<std::uint64_t>(export_number(row, "occurrences").value_or(1)),
                                 export_number(row, "first_seen").value_or(0),
                                 export_number(row, "last_seen").value_or(0)});
  }
  return content;
}

}  // namespace deadheat
