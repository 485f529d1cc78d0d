// SPDX-License-Identifier: Apache-2.0
// ReportFiles: what a command that has races writes for other tools, besides its own report:
// JSON, SARIF, JUnit, a page for a browser, GitHub's lines; and the baseline, which says what does not fail a build.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/output.h"
#include "report/race_formats.h"

namespace deadheat {

struct ReportFileOptions {
  std::optional<std::string> json;
  std::optional<std::string> sarif;
  std::optional<std::string> junit;
  std::optional<std::string> html;
  bool github = false;
  std::optional<std::string> baseline;
};

// --json, --sarif, --junit, --html, --github, --baseline.
void add_report_file_options(CLI::App& command, ReportFileOptions& options);

// The fingerprints that a baseline knows: those of a report (JSON or SARIF), or those of a store (a
// file, a URL, an export) that are not resolved. Errors: kIo, kMalformed; those of Store.
[[nodiscard]] Result<std::set<std::string>> read_baseline(const std::string& place);

class ReportFiles {
 public:
  // Before the work begins. Errors: kIo (a file cannot be opened); those of read_baseline().
  static Result<ReportFiles> open(const ReportFileOptions& options);

  [[nodiscard]] bool is_known(const std::string& fingerprint) const { return known_.contains(fingerprint); }
  // `program` is what was looked at. `ignored` are fingerprints of the user's verdict.
  [[nodiscard]] RaceReport report_of(std::string program, std::vector<Sighting> races,
                                     const std::set<std::string>& ignored = {}) const;
  // All files, also after one could not be written: the first error. `json` makes the document of --json, `page` that
  // of --html if it is another one. Errors: kIo; those of format_html_page().
  Status write(const RaceReport& report, const std::function<std::string()>& json,
               const std::function<Result<std::string>()>& page = {});
  // How the races compare with the baseline; empty without one.
  [[nodiscard]] std::string describe_baseline(const RaceReport& report) const;

 private:
  [[nodiscard]] std::string with_known_races(std::string json, const RaceReport& report) const;

  ReportFileOptions options_;
  std::set<std::string> known_;
  std::optional<Output> json_;
  std::optional<Output> sarif_;
  std::optional<Output> junit_;
  std::optional<Output> html_;
};

}  // namespace deadheat
