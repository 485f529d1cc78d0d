// SPDX-License-Identifier: Apache-2.0
// A store as one file of JSON, and back. Times are microseconds, so that nothing is rounded.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "report/json_parts.h"
#include "report/store_words.h"

namespace deadheat {

namespace {

using ExportJson = nlohmann::ordered_json;

constexpr char kFormatName[] = "deadheat-store";
constexpr int kExportVersion = 1;

template <class Number>
ExportJson null_or(const std::optional<Number>& number) {
  return number ? ExportJson(*number) : ExportJson(nullptr);
}

std::string export_text(const ExportJson& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

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
  run.id = export_text(object, "id");
  run.mode = export_text(object, "mode");
  run.program = export_text(object, "program");
  run.arguments = export_text(object, "arguments");
  run.machine = export_text(object, "machine");
  run.tool = export_text(object, "tool");
  run.started = export_number(object, "started").value_or(0);
  run.duration = export_number(object, "duration");
  run.rate = export_fraction(object, "rate");
  run.effective_rate = export_fraction(object, "effective_rate");
  run.overhead = export_fraction(object, "overhead");
  run.status = export_text(object, "status");
  return run;
}

StoreContent::Race exported_race(const ExportJson& object) {
  StoreContent::Race race;
  race.race.fingerprint = export_text(object, "fingerprint");
  race.race.kind = export_text(object, "kind");
  race.race.title = export_text(object, "title");
  race.race.variable = export_text(object, "variable");
  race.race.earlier = export_text(object, "earlier");
  race.race.later = export_text(object, "later");
  race.state = state_of(export_text(object, "state")).value_or(RaceState::kOpen);
  race.state_since = export_number(object, "state_since").value_or(0);
  race.note = export_text(object, "note");
  race.document_time = export_number(object, "document_time").value_or(0);
  if (object.contains("document")) race.race.document = object["document"].dump();
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
                                {"duration", null_or(run.duration)},
                                {"rate", null_or(run.rate)},
                                {"effective_rate", null_or(run.effective_rate)},
                                {"overhead", null_or(run.overhead)},
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
                                 {"document", ExportJson::parse(race.document, nullptr, false)}});
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
  const ExportJson document = ExportJson::parse(text, nullptr, false);
  if (!document.is_object() || export_text(document, "format") != kFormatName) {
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
    content.sightings.push_back({export_text(row, "fingerprint"), export_text(row, "run"),
                                 static_cast<std::uint64_t>(export_number(row, "occurrences").value_or(1)),
                                 export_number(row, "first_seen").value_or(0),
                                 export_number(row, "last_seen").value_or(0)});
  }
  return content;
}

}  // namespace deadheat
