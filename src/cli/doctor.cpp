// SPDX-License-Identifier: Apache-2.0
// `deadheat doctor`: what works on this machine, what does not, what that means
// and how to fix it. The checks are in doctor_checks.h.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>

#include "cli/commands.h"
#include "cli/common_options.h"
#include "cli/doctor_checks.h"
#include "cli/messages.h"
#include "cli/output.h"
#include "report/describe.h"
#include "report/json_text.h"

namespace deadheat {

namespace {

struct DoctorOptions {
  ReportFormat format = ReportFormat::kText;
  ColourChoice colour = ColourChoice::kAuto;
};

constexpr char kDoctorFooter[] = R"(Examples:
  deadheat doctor
  deadheat doctor --format json

Each line says ok, warning or missing, and for which command it matters: run (full
detection), watch (hardware breakpoints), record (sampling for offline analysis).

Exit codes: 0 full detection works here; 1 it does not, or failure; 2 bad usage.)";

bool full_detection_works(const std::vector<CheckResult>& checks) {
  return std::none_of(checks.begin(), checks.end(), [](const CheckResult& check) {
    return check.scope == CheckScope::kFullDetection && check.verdict == CheckVerdict::kMissing;
  });
}

std::string_view colour_of(CheckVerdict verdict) {
  switch (verdict) {
    case CheckVerdict::kOk:
      return "\x1b[32m";
    case CheckVerdict::kWarning:
      return "\x1b[33m";
    case CheckVerdict::kMissing:
      return "\x1b[1;31m";
  }
  return "";
}

// "  ok       kernel                  Linux 6.1 x86_64", and below it what it means.
std::string format_check(const CheckResult& check, ColourMode colour) {
  constexpr int kIndent = 35;
  const bool coloured = colour == ColourMode::kColour;
  std::string text = fmt::format("  {}{:<8}{} {:<23} {}\n", coloured ? colour_of(check.verdict) : "",
                                 name_of(check.verdict), coloured ? "\x1b[0m" : "", check.name, printable(check.found));
  if (check.verdict == CheckVerdict::kOk) return text;
  const std::string scope =
      check.scope == CheckScope::kInformation ? std::string() : fmt::format(" [{}]", name_of(check.scope));
  if (!check.meaning.empty()) text += fmt::format("{:<{}}{}{}\n", "", kIndent, check.meaning, scope);
  if (!check.fix.empty()) text += fmt::format("{:<{}}fix: {}\n", "", kIndent, printable(check.fix));
  return text;
}

std::string format_text(const std::vector<CheckResult>& checks, ColourMode colour) {
  std::string text;
  for (const CheckResult& check : checks) text += format_check(check, colour);
  text += full_detection_works(checks) ? "\nFull detection works on this machine.\n"
                                       : "\nFull detection does not work on this machine; see 'missing' above.\n";
  return text;
}

std::string format_json(const std::vector<CheckResult>& checks) {
  nlohmann::ordered_json document;
  document["full_detection"] = full_detection_works(checks);
  document["checks"] = nlohmann::ordered_json::array();
  for (const CheckResult& check : checks) {
    document["checks"].push_back({{"name", check.name},
                                  {"verdict", name_of(check.verdict)},
                                  {"needed_by", name_of(check.scope)},
                                  {"found", check.found},
                                  {"meaning", check.meaning},
                                  {"fix", check.fix}});
  }
  return text_of_document(document);
}

ExitCode examine(const DoctorOptions& options) {
  std::vector<CheckResult> checks = check_machine();
  const std::vector<CheckResult> compilers = check_compilers();
  checks.insert(checks.end(), compilers.begin(), compilers.end());

  auto output = Output::open(std::nullopt);
  if (!output.ok()) {
    print_error(output.error().message);
    return ExitCode::kFailure;
  }
  const ColourMode colour = colour_for(options.colour, output.value().descriptor());
  const Status written =
      output.value().write(options.format == ReportFormat::kJson ? format_json(checks) : format_text(checks, colour));
  if (!written.ok()) {
    print_error(written.error().message);
    return ExitCode::kFailure;
  }
  return full_detection_works(checks) ? ExitCode::kSuccess : ExitCode::kFailure;
}

}  // namespace

void add_doctor_command(CLI::App& app, ExitCode& result) {
  auto options = std::make_shared<DoctorOptions>();
  CLI::App* command = app.add_subcommand("doctor", "Show what works on this machine and how to fix what does not");
  command->footer(kDoctorFooter);
  add_format_option(*command, options->format);
  add_colour_option(*command, options->colour);
  command->callback([options, &result] { result = examine(*options); });
}

}  // namespace deadheat
