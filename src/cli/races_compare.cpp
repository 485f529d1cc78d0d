// SPDX-License-Identifier: Apache-2.0
#include "cli/races_compare.h"

#include <fmt/format.h>

#include <filesystem>

#include "cli/messages.h"
#include "report/describe.h"
#include "report/file_content.h"
#include "report/json_parts.h"
#include "report/json_text.h"
#include "report/race_record.h"
#include "report/store_upgrade.h"
#include "report/store_words.h"

namespace deadheat {

namespace {

using CompareJson = nlohmann::ordered_json;

RacesByFingerprint by_fingerprint(const std::vector<RaceRow>& rows) {
  RacesByFingerprint races;
  for (const RaceRow& row : rows) races.emplace(row.race.fingerprint, row.race);
  return races;
}

Result<RacesByFingerprint> races_of_store(Store& store, const RaceFilter& filter) {
  const auto rows = store.races(filter);
  if (!rows.ok()) return rows.error();
  return by_fingerprint(rows.value());
}

Result<std::string> text_of_file(const std::string& path) {
  auto content = file_content(path);
  if (content.ok()) return content;
  return Error{ErrorCode::kIo, fmt::format("cannot read '{}': {}", path, content.error().message)};
}

bool is_database(const std::string& content) { return content.starts_with("SQLite format 3"); }

Result<RacesByFingerprint> races_of_report(const std::string& path, const std::string& content) {
  const CompareJson document = parse_json(content);
  if (!document.is_object() || !document.contains("findings") || !document["findings"].is_array()) {
    return Error{ErrorCode::kMalformed, fmt::format("'{}' is neither a JSON report nor a store", path)};
  }
  RacesByFingerprint races;
  for (const CompareJson& finding : document["findings"]) {
    const auto race = race_of_document(one_line_of(finding));
    if (!race.ok()) return Error{ErrorCode::kMalformed, fmt::format("'{}': {}", path, race.error().message)};
    Sighting seen = sighting_of(race.value());
    races.emplace(seen.fingerprint, std::move(seen));
  }
  return races;
}

std::string describe_list(const char* sign, const std::vector<Sighting>& races, Paint paint, ColourMode colour) {
  std::string text;
  for (const Sighting& race : races) {
    text += fmt::format("{} {}  {}{}\n      {}\n      {}\n", painted(sign, paint, colour), race.fingerprint, race.title,
                        race.variable.empty() ? "" : " on " + race.variable, race.later, race.earlier);
  }
  return text;
}

CompareJson json_list(const std::vector<Sighting>& races) {
  CompareJson list = CompareJson::array();
  for (const Sighting& race : races) {
    list.push_back({{"fingerprint", race.fingerprint},
                    {"kind", race.kind},
                    {"title", race.title},
                    {"variable", race.variable},
                    {"later", race.later},
                    {"earlier", race.earlier}});
  }
  return list;
}

}  // namespace

Result<RacesByFingerprint> races_of(const std::string& name, Store& store) {
  std::error_code ignored;
  const bool is_file = !is_postgres_url(name) && std::filesystem::is_regular_file(name, ignored);
  if (is_file) {
    const auto content = text_of_file(name);
    if (!content.ok()) return content.error();
    if (!is_database(content.value())) return races_of_report(name, content.value());
  }
  if (is_file || is_postgres_url(name)) {
    auto other = Store::open(name, StoreAccess::kRead);
    if (!other.ok()) return other.error();
    return races_of_store(other.value(), {});
  }
  const auto run = store.run(name);
  if (!run.ok()) return run.error();
  RaceFilter filter;
  filter.run = run.value().run.id;
  return races_of_store(store, filter);
}

RaceDifference compare_races(const RacesByFingerprint& before, const RacesByFingerprint& after) {
  RaceDifference difference;
  for (const auto& [fingerprint, race] : after) {
    (before.contains(fingerprint) ? difference.common : difference.added).push_back(race);
  }
  for (const auto& [fingerprint, race] : before) {
    if (!after.contains(fingerprint)) difference.gone.push_back(race);
  }
  return difference;
}

std::string format_difference(const RaceDifference& difference, ColourMode colour) {
  return describe_list("+", difference.added, Paint::kBad, colour) +
         describe_list("-", difference.gone, Paint::kGood, colour) +
         fmt::format("{} new, {} gone, {} in both\n", grouped(difference.added.size()), grouped(difference.gone.size()),
                     grouped(difference.common.size()));
}

std::string format_difference_json(const RaceDifference& difference) {
  CompareJson document;
  document["version"] = 1;
  document["added"] = json_list(difference.added);
  document["gone"] = json_list(difference.gone);
  document["common"] = json_list(difference.common);
  return text_of_document(document);
}

Result<StoreContent> content_of_place(const std::string& place) {
  if (!is_postgres_url(place)) {
    const auto content = text_of_file(place);
    if (!content.ok()) return content.error();
    if (!is_database(content.value())) {
      auto parsed = parse_export(content.value());
      if (!parsed.ok()) return Error{parsed.error().code, fmt::format("'{}': {}", place, parsed.error().message)};
      upgrade(parsed.value());
      return parsed;
    }
  }
  auto store = Store::open(place, StoreAccess::kRead);
  if (!store.ok()) return store.error();
  auto content = store.value().content();
  if (content.ok()) upgrade(content.value());
  return content;
}

}  // namespace deadheat
