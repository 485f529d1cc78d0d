// SPDX-License-Identifier: Apache-2.0
#include "cli/report_files.h"

#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "cli/html_output.h"
#include "cli/messages.h"
#include "report/describe.h"
#include "report/file_content.h"
#include "report/json_parts.h"
#include "report/json_text.h"
#include "report/source_files.h"
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

RaceName baseline_name_of(const Sighting& race) { return {race.fingerprint, race.old_fingerprint}; }

std::vector<RaceName> names_of(const std::vector<Sighting>& races) {
  std::vector<RaceName> names;
  for (const Sighting& race : races) names.push_back(baseline_name_of(race));
  return names;
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
  command
      .add_option_function<std::vector<std::string>>(
          "--source-map",
          [](const std::vector<std::string>& places) {
            for (const std::string& text : places) add_source_place(*parse_source_place(text));
          },
          "Sources that were FROM when the program was built, or that -ffile-prefix-map calls so, are in TO; may be "
          "given several times")
      ->check([](const std::string& text) {
        return parse_source_place(text) ? std::string() : fmt::format("'{}' is not FROM=TO", text);
      })
      ->allow_extra_args(false)
      ->option_text("FROM=TO");
}

Result<ReportFiles> ReportFiles::open(const ReportFileOptions& options) {
  ReportFiles files;
  files.options_ = options;
  if (options.baseline) {
    auto baseline = Baseline::read(*options.baseline);
    if (!baseline.ok()) return baseline.error();
    files.baseline_ = std::move(baseline).value();
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
  const std::vector<bool> known = baseline_.known_of(names_of(races));
  for (std::size_t at = 0; at < races.size(); ++at) {
    const bool is_ignored = ignored.contains(races[at].fingerprint);
    report.races.push_back({std::move(races[at]), known[at], is_ignored});
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

std::string ReportFiles::with_known_races(std::string json, const RaceReport& report) {
  if (!report.has_baseline) return json;
  FileJson document = parse_json(json);
  if (!document.is_object() || !document.contains("findings")) return json;
  std::set<std::string> known;
  for (const RaceReport::Entry& entry : report.races) {
    if (entry.is_known) known.insert(entry.race.fingerprint);
  }
  for (FileJson& finding : document["findings"]) finding["known"] = known.contains(finding.value("fingerprint", ""));
  return text_of_document(document);
}

std::string ReportFiles::describe_baseline(const RaceReport& report) const {
  if (!options_.baseline || report.races.empty()) return {};
  std::size_t fresh = 0;
  for (const RaceReport::Entry& entry : report.races) fresh += entry.is_known ? 0 : 1;
  std::vector<RaceName> names;
  for (const RaceReport::Entry& entry : report.races) names.push_back(baseline_name_of(entry.race));
  const std::size_t ambiguous = baseline_.ambiguous(names);
  return fmt::format("{} of {} not in the baseline '{}'{}", fresh == 0 ? "none" : grouped(fresh),
                     counted(report.races.size(), "race"), printable(public_address(*options_.baseline)),
                     ambiguous == 0 ? std::string()
                                    : fmt::format("; its names are of an older version, which had one for {} of them",
                                                  grouped(ambiguous)));
}

}  // namespace deadheat
