// SPDX-License-Identifier: Apache-2.0
#include "cli/report_files.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "cli/html_output.h"
#include "cli/messages.h"
#include "report/describe.h"
#include "report/file_content.h"
#include "report/json_parts.h"
#include "report/json_text.h"
#include "store/store.h"

namespace deadheat {

namespace {

using FileJson = nlohmann::ordered_json;

std::string here() {
  std::error_code error;
  const auto path = std::filesystem::current_path(error);
  return error ? std::string() : path.string();
}

void add_file_option(CLI::App& command, const char* name, std::optional<std::string>& target, const char* help) {
  command.add_option(name, target, help)->option_text("FILE");
}

Result<std::set<std::string>> baseline_of_store(const std::string& place) {
  auto store = Store::open(place, StoreAccess::kRead);
  if (!store.ok()) return store.error();
  const auto races = store.value().races({});
  if (!races.ok()) return races.error();
  std::set<std::string> known;
  for (const RaceRow& row : races.value()) {
    if (row.state != RaceState::kResolved) known.insert(row.race.fingerprint);
  }
  return known;
}

void collect(const FileJson& list, std::set<std::string>& known) {
  if (!list.is_array()) return;
  for (const FileJson& one : list) {
    if (!one.is_object() || one.value("state", "") == std::string("resolved")) continue;
    if (one.contains("fingerprint") && one["fingerprint"].is_string())
      known.insert(one["fingerprint"].get<std::string>());
    if (!one.contains("partialFingerprints") || !one["partialFingerprints"].is_object()) continue;
    for (const auto& [name, value] : one["partialFingerprints"].items()) {
      if (name.starts_with("deadheatRace/") && value.is_string()) known.insert(value.get<std::string>());
    }
  }
}

}  // namespace

void add_report_file_options(CLI::App& command, ReportFileOptions& options) {
  add_file_option(command, "--json", options.json, "Write a JSON report as well");
  add_file_option(command, "--sarif", options.sarif, "Write SARIF 2.1.0 as well, for code scanning");
  add_file_option(command, "--junit", options.junit, "Write JUnit XML as well, a test per race");
  add_file_option(command, "--html", options.html, "Write a page for a browser as well, in one file");
  command.add_flag("--github", options.github, "Print lines that GitHub shows beside the code");
  command
      .add_option("--baseline", options.baseline,
                  "Races of this report (JSON, SARIF) or store are known: only others count for the exit code")
      ->option_text("FILE|STORE");
}

Result<std::set<std::string>> read_baseline(const std::string& place) {
  if (is_postgres_url(place)) return baseline_of_store(place);
  const auto read = file_content(place);
  if (!read.ok()) {
    return Error{ErrorCode::kIo, fmt::format("cannot read the baseline '{}': {}", place, read.error().message)};
  }
  const std::string& content = read.value();
  if (content.starts_with("SQLite format 3")) return baseline_of_store(place);
  const FileJson document = parse_json(content);
  const Error strange{ErrorCode::kMalformed,
                      fmt::format("the baseline '{}' is neither a report (JSON, SARIF) nor a store", place)};
  if (!document.is_object()) return strange;
  std::set<std::string> known;
  bool is_recognised = false;
  for (const char* const list : {"findings", "races"}) {
    if (!document.contains(list)) continue;
    is_recognised = true;
    collect(document[list], known);
  }
  if (document.contains("runs") && document["runs"].is_array()) {
    for (const FileJson& run : document["runs"]) {
      if (!run.is_object() || !run.contains("results")) continue;
      is_recognised = true;
      collect(run["results"], known);
    }
  }
  if (!is_recognised) return strange;
  return known;
}

Result<ReportFiles> ReportFiles::open(const ReportFileOptions& options) {
  ReportFiles files;
  files.options_ = options;
  if (options.baseline) {
    auto known = read_baseline(*options.baseline);
    if (!known.ok()) return known.error();
    files.known_ = std::move(known).value();
  }
  const std::pair<const std::optional<std::string>*, std::optional<Output>*> wanted[] = {
      {&options.json, &files.json_},
      {&options.sarif, &files.sarif_},
      {&options.junit, &files.junit_},
      {&options.html, &files.html_}};
  for (const auto& [path, target] : wanted) {
    if (!*path) continue;
    auto opened = Output::open(*path);
    if (!opened.ok()) return opened.error();
    target->emplace(std::move(opened).value());
  }
  return files;
}

RaceReport ReportFiles::report_of(std::string program, std::vector<Sighting> races,
                                  const std::set<std::string>& ignored) const {
  RaceReport report;
  report.tool_version = DEADHEAT_VERSION;
  report.program = std::move(program);
  report.root = here();
  report.has_baseline = options_.baseline.has_value();
  for (Sighting& race : races) {
    const bool known = is_known(race.fingerprint);
    const bool is_ignored = ignored.contains(race.fingerprint);
    report.races.push_back({std::move(race), known, is_ignored});
  }
  return report;
}

Status ReportFiles::write(const RaceReport& report, const std::function<std::string()>& json,
                          const std::function<Result<std::string>()>& page) {
  Status first;
  const auto note = [&](const Status& status) {
    if (first.ok()) first = status;
  };
  if (json_) note(json_->write(with_known_races(json(), report)));
  if (sarif_) note(sarif_->write(format_sarif(report)));
  if (junit_) note(junit_->write(format_junit(report)));
  if (html_) {
    const Result<std::string> document = page ? page() : json();
    note(document.ok() ? write_page(*html_, document.value()) : Status(document.error()));
  }
  if (options_.github) note(Output::open(std::nullopt).value().write(format_github_lines(report)));
  return first;
}

std::string ReportFiles::with_known_races(std::string json, const RaceReport& report) const {
  if (!report.has_baseline) return json;
  FileJson document = parse_json(json);
  if (!document.is_object() || !document.contains("findings")) return json;
  for (FileJson& finding : document["findings"]) finding["known"] = is_known(finding.value("fingerprint", ""));
  return text_of_document(document);
}

std::string ReportFiles::describe_baseline(const RaceReport& report) const {
  if (!options_.baseline || report.races.empty()) return {};
  std::size_t fresh = 0;
  for (const RaceReport::Entry& entry : report.races) fresh += entry.is_known ? 0 : 1;
  return fmt::format("{} of {} not in the baseline '{}'", fresh == 0 ? "none" : grouped(fresh),
                     counted(report.races.size(), "race"), printable(public_address(*options_.baseline)));
}

}  // namespace deadheat
