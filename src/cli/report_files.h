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
#include "cli/baseline.h"
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

class ReportFiles {
 public:
  // Before the work begins. Errors: kIo (a file cannot be opened); those of Baseline.
  static Result<ReportFiles> open(const ReportFileOptions& options);

  [[nodiscard]] const Baseline& baseline() const { return baseline_; }
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
  [[nodiscard]] static std::string with_known_races(std::string json, const RaceReport& report);

  ReportFileOptions options_;
  Baseline baseline_;
  std::optional<Output> json_;
  std::optional<Output> sarif_;
  std::optional<Output> junit_;
  std::optional<Output> html_;
};

}  // namespace deadheat
