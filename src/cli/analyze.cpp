// SPDX-License-Identifier: Apache-2.0
// `deadheat analyze`: the races of a recorded trace.
//
// A trace that is cut off or breaks the rules has a good part before the damage,
// and races in that part are real. So the report is always printed; the exit
// code then tells a damaged trace (1) from one that merely ends early (a warning).
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>

#include "cli/analysis_run.h"
#include "cli/choice.h"
#include "cli/commands.h"
#include "cli/common_options.h"
#include "cli/messages.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "report/describe.h"
#include "report/finding_json.h"
#include "report/finding_text.h"

namespace deadheat {

namespace {

struct AnalyzeOptions {
  AnalysisRequest request;
  ReportFormat format = ReportFormat::kText;
  std::optional<std::string> output;
  ColourChoice colour = ColourChoice::kAuto;
  bool strict_atomics = false;
  bool no_check = false;
  bool stats = false;
};

constexpr char kAnalyzeFooter[] = R"(Examples:
  deadheat analyze run.trace
  deadheat analyze run.trace --format json --output races.json
  deadheat analyze run.trace --detector reference --stats
  deadheat analyze run.trace || [ $? -eq 66 ]     fail on errors, not on races

Detectors: fasttrack is exact and fast; slimstate is fasttrack with few cells and few
checks for arrays, for traces with large loops; djit keeps full vector clocks for
every variable; reference is the slow and simple one that the others are tested
against. All find the same racy bytes.

A trace that stops early or is damaged: the races before that point are shown.

Exit codes: 0 no race; 66 races found; 1 bad trace or failure; 2 bad usage.)";

std::string format_run_stats(const AnalysisRun& run) {
  const Analysis& analysis = run.analysis;
  const double rate = run.seconds > 0 ? static_cast<double>(analysis.event_count) / 1e6 / run.seconds : 0;
  return fmt::format("\n{}, {:.2f} s, {:.1f} million events/s\n{}", analysis.detector_name, run.seconds, rate,
                     format_counters(analysis.counters));
}

std::string format_report(const AnalysisRun& run, const AnalyzeOptions& options, ColourMode colour) {
  if (options.format == ReportFormat::kJson) return format_json_report(run.analysis);
  // "No data races" would be a strange thing to say of a file that is no trace.
  if (run.error && run.analysis.event_count == 0) return {};
  std::string text = format_text_report(run.analysis, colour);
  if (options.stats) text += format_run_stats(run);
  return text;
}

// What the report does not cover, and why.
void print_damage(const AnalysisRun& run) {
  const Analysis& analysis = run.analysis;
  if (!analysis.incomplete) return;
  std::string message = about_file(analysis.trace_path, *analysis.incomplete);
  if (analysis.event_count > 0) {
    message += fmt::format("; the report covers the {} before that", counted(analysis.event_count, "event"));
  }
  if (run.error) {
    print_error(message);
  } else {
    print_warning(message);
  }
}

ExitCode analyze(AnalyzeOptions& options) {
  if (options.strict_atomics) options.request.detector_options.release_sequences = ReleaseSequences::kCpp20;
  if (options.no_check) options.request.checking = Checking::kOff;

  auto output = Output::open(options.output);
  if (!output.ok()) {
    print_error(output.error().message);
    return ExitCode::kFailure;
  }
  if (output.value().is_same_file(options.request.path)) {
    print_error(fmt::format("'{}' is the trace itself; choose another --output", *options.output));
    return ExitCode::kFailure;
  }
  const auto run = run_analysis(options.request);
  if (!run.ok()) {
    print_error(about_file(options.request.path, run.error().message));
    return ExitCode::kFailure;
  }
  const ColourMode colour = colour_for(options.colour, output.value().descriptor());
  const bool to_file = output.value().is_file();
  const Status written = output.value().write(format_report(run.value(), options, colour));
  if (!written.ok()) {
    print_error(written.error().message);
    return ExitCode::kFailure;
  }
  const Analysis& analysis = run.value().analysis;
  if (to_file) fmt::print(stderr, "{}", format_summary(analysis, ColourMode::kPlain));
  print_damage(run.value());
  if (run.value().error) return ExitCode::kFailure;
  return analysis.findings.empty() ? ExitCode::kSuccess : ExitCode::kRacesFound;
}

}  // namespace

void add_analyze_command(CLI::App& app, ExitCode& result) {
  auto options = std::make_shared<AnalyzeOptions>();
  CLI::App* command = app.add_subcommand("analyze", "Find the data races of a recorded trace");
  command->footer(kAnalyzeFooter);
  command->add_option("FILE", options->request.path, "The trace, in any format we read")->required()->option_text(" ");
  add_choice<DetectorKind>(*command, "--detector", options->request.detector,
                           {{"fasttrack", DetectorKind::kFastTrack},
                            {"slimstate", DetectorKind::kSlimState},
                            {"djit", DetectorKind::kDjit},
                            {"reference", DetectorKind::kReference}},
                           "fasttrack (default), slimstate, djit or reference");
  add_format_option(*command, options->format);
  command->add_option("-o,--output", options->output, "Write the report there, not to standard output")
      ->option_text("FILE");
  command->add_flag("--strict-atomics", options->strict_atomics,
                    "C++20: a relaxed store of the releasing thread ends its release sequence");
  command->add_flag("--no-check", options->no_check, "Trust the trace: do not check that it is well formed");
  command->add_flag("--stats", options->stats, "Show how often each rule of the detector was applied");
  add_colour_option(*command, options->colour);
  command->callback([options, &result] { result = analyze(*options); });
}

}  // namespace deadheat
