// SPDX-License-Identifier: Apache-2.0
// `deadheat analyze`: the races of a recorded trace.
//
// A trace that is cut off or breaks the rules has a good part before the damage,
// and races in that part are real. So the report is always printed; the exit
// code then tells a damaged trace (1) from one that merely ends early (a warning).
#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/analysis_run.h"
#include "cli/analyze_recording.h"
#include "cli/choice.h"
#include "cli/commands.h"
#include "cli/common_options.h"
#include "cli/messages.h"
#include "cli/output.h"
#include "cli/rate.h"
#include "cli/report_files.h"
#include "cli/store_writer.h"
#include "cli/terminal.h"
#include "report/describe.h"
#include "report/finding_json.h"
#include "report/finding_text.h"
#include "report/race_record.h"

namespace deadheat {

namespace {

struct AnalyzeOptions {
  AnalysisRequest request;
  ReportFormat format = ReportFormat::kText;
  std::optional<std::string> output;
  std::vector<std::string> suppressions;
  ColourChoice colour = ColourChoice::kAuto;
  std::optional<double> rate;
  std::optional<std::uint64_t> seed;
  std::optional<std::uint64_t> period;
  bool strict_atomics = false;
  bool no_check = false;
  bool no_counts = false;
  bool stats = false;
  RecordingChoices recording;
  ReportFileOptions files;
  StoreOptions store;
};

constexpr char kAnalyzeFooter[] = R"(Examples:
  deadheat analyze run.trace
  deadheat analyze run.trace --format json --output races.json
  deadheat analyze run.trace --sarif races.sarif --baseline known.json
  deadheat analyze run.trace --suppressions known.supp
  deadheat analyze run.trace --detector reference --stats
  deadheat analyze run.trace --detector pacer --rate 3% --seed 7
  deadheat analyze run1                           a recording, by 'deadheat record'
  deadheat analyze run1 --stats --suspects
  deadheat analyze run.trace || [ $? -eq 66 ]     fail on errors, not on races

Detectors: fasttrack is exact and fast; slimstate is fasttrack with few cells and few
checks for arrays, for traces with large loops; djit keeps full vector clocks for
every variable; reference is the slow and simple one that the others are tested
against. All find the same racy bytes.

Two more show what sampling would have found. pacer records the accesses of random
periods, --rate of all, and finds each race whose first access it recorded, so each
with a probability equal to the rate; without --rate it samples in the periods that
the trace has (sampling_begin, sampling_end). literace records code that rarely
runs, and promises nothing.

Of a recording, accesses are rebuilt around its samples. A pair that nothing orders is a race, if
the log has all that orders the program's threads. A program with atomic operations, which no
log shows, or without debug information, which would tell, has suspects instead: --suspects
shows them, 'deadheat watch' can confirm them.

A trace that stops early or is damaged: the races before that point are shown.

"-" is the standard input; every format can come through a pipe.

Exit codes: 0 no race; 66 races found (that are not in the --baseline); 3 nothing was looked
at: a trace without accesses, a recording without samples; 1 bad trace or failure; 2 bad usage.)";

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

// The options that only PACER has. Errors: kUnsupported, bad usage.
Status settle_sampling(AnalyzeOptions& options) {
  if (options.request.detector != DetectorKind::kPacer) {
    const char* const stray = options.rate ? "--rate" : options.seed ? "--seed" : options.period ? "--period" : nullptr;
    if (stray == nullptr) return {};
    return Error{ErrorCode::kUnsupported, fmt::format("{} is for --detector pacer", stray)};
  }
  if (!options.rate) {
    if (!options.seed && !options.period) return {};
    return Error{ErrorCode::kUnsupported, fmt::format("{} needs --rate", options.seed ? "--seed" : "--period")};
  }
  SamplingPlan plan;
  plan.rate = *options.rate;
  plan.seed = options.seed.value_or(plan.seed);
  plan.period = options.period.value_or(plan.period);
  options.request.detector_options.sampling = plan;
  return {};
}

// The trace's own periods were asked for, and it has none.
void note_missing_periods(const AnalyzeOptions& options, const Analysis& analysis) {
  if (options.rate || !analysis.sampled || analysis.sampled->sampled != 0) return;
  print_note("nothing was sampled: no sampling period of the trace has an access; --rate makes its own periods");
}

// Errors: kUnsupported, bad usage.
Status check_recording_options(const AnalyzeOptions& options) {
  const char* const stray = options.recording.is_single_block  ? "--racez"
                            : options.recording.is_raw         ? "--raw"
                            : options.recording.shows_suspects ? "--suspects"
                                                               : nullptr;
  if (stray == nullptr || is_recorded_run(options.request.path)) return {};
  return Error{ErrorCode::kUnsupported, fmt::format("{} is for recordings, by record or perf", stray)};
}

// Of a trace that could be read at all.
Status keep(const Analysis& analysis, double seconds, const std::vector<Sighting>& races,
            const AnalyzeOptions& options) {
  StoreWriter store(options.store);
  StoredRun run;
  run.mode = "analyze";
  run.program = analysis.trace_path;
  store.begin(run);
  store.add(run, races);
  if (options.rate) run.rate = *options.rate;
  if (analysis.sampled) run.effective_rate = effective_rate(*analysis.sampled);
  run.duration = static_cast<Microseconds>(seconds * 1e6);
  run.status = analysis.incomplete ? "incomplete" : "done";
  store.finish(run);
  return store.status();
}

// To the store and to other tools; what the races mean for the exit code.
ExitCode deliver(const Analysis& analysis, double seconds, ReportFiles& files, const AnalyzeOptions& options) {
  std::vector<Sighting> races;
  for (std::size_t index = 0; index < analysis.findings.size(); ++index) {
    races.push_back(sighting_of(analysis.findings[index], analysis.dictionary, context_of(analysis, index)));
  }
  const Status kept = analysis.event_count != 0 ? keep(analysis, seconds, races, options) : Status();
  const RaceReport report = files.report_of(analysis.trace_path, std::move(races));
  if (const std::string compared = files.describe_baseline(report); !compared.empty()) print_note(compared);
  const Status others = files.write(report, [&] { return format_json_report(analysis); });
  for (const Status& status : {kept, others}) {
    if (status.ok()) continue;
    print_error(status.error().message);
    return ExitCode::kFailure;
  }
  if (report.failures() != 0) return ExitCode::kRacesFound;
  return why_nothing_seen(analysis) ? ExitCode::kNothingSeen : ExitCode::kSuccess;
}

ExitCode analyze(AnalyzeOptions& options) {
  if (const Status status = check_recording_options(options); !status.ok()) {
    print_error(fmt::format("{}; see 'deadheat analyze --help'", status.error().message));
    return ExitCode::kUsage;
  }
  if (const Status status = settle_sampling(options); !status.ok()) {
    print_error(fmt::format("{}; see 'deadheat analyze --help'", status.error().message));
    return ExitCode::kUsage;
  }
  if (options.strict_atomics) options.request.detector_options.release_sequences = ReleaseSequences::kCpp20;
  if (options.no_check) options.request.checking = Checking::kOff;

  auto suppressions = read_suppressions(options.suppressions);
  if (!suppressions.ok()) {
    print_error(suppressions.error().message);
    return ExitCode::kFailure;
  }
  if (const Status status = check_named_store(options.store); !status.ok()) {
    print_error(status.error().message);
    return ExitCode::kFailure;
  }
  auto files = ReportFiles::open(options.files);
  if (!files.ok()) {
    print_error(files.error().message);
    return ExitCode::kFailure;
  }
  auto output = Output::open(options.output);
  if (!output.ok()) {
    print_error(output.error().message);
    return ExitCode::kFailure;
  }
  if (output.value().is_same_file(options.request.path)) {
    print_error(fmt::format("'{}' is the trace itself; choose another --output", *options.output));
    return ExitCode::kFailure;
  }
  if (is_recorded_run(options.request.path)) {
    options.recording.detector = options.request.detector;
    options.recording.format = options.format;
    options.recording.colour = options.colour;
    options.recording.has_stats = options.stats;
    options.recording.suppressions = std::move(suppressions).value();
    options.recording.deliver = [&](const Analysis& analysis, double seconds) {
      return deliver(analysis, seconds, files.value(), options);
    };
    return analyze_recording(options.request.path, options.recording, std::move(output).value());
  }
  auto run = run_analysis(options.request);
  if (!run.ok()) {
    print_error(about_file(options.request.path, run.error().message));
    return ExitCode::kFailure;
  }
  hide_suppressed(run.value().analysis, std::move(suppressions).value());
  if (!options.no_counts) count_accesses(run.value().analysis);
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
  if (options.request.detector == DetectorKind::kPacer) note_missing_periods(options, analysis);
  const ExitCode delivered = deliver(analysis, run.value().seconds, files.value(), options);
  return run.value().error ? ExitCode::kFailure : delivered;
}

}  // namespace

void add_analyze_command(CLI::App& app, ExitCode& result) {
  auto options = std::make_shared<AnalyzeOptions>();
  CLI::App* command = app.add_subcommand("analyze", "Find the data races of a recorded trace");
  command->footer(kAnalyzeFooter);
  command->add_option("FILE", options->request.path, "The trace, in any format we read, or a recording (a directory)")
      ->required()
      ->option_text(" ");
  add_choice<DetectorKind>(*command, "--detector", options->request.detector,
                           {{"fasttrack", DetectorKind::kFastTrack},
                            {"slimstate", DetectorKind::kSlimState},
                            {"djit", DetectorKind::kDjit},
                            {"reference", DetectorKind::kReference},
                            {"pacer", DetectorKind::kPacer},
                            {"literace", DetectorKind::kLiteRace}},
                           "fasttrack (default), slimstate, djit, reference, pacer or literace");
  add_share_option(
      *command, "--rate", [target = &options->rate](double rate) { *target = rate; },
      "With pacer: the share of accesses to sample, as 3% or 0.03");
  command->add_option("--seed", options->seed, "With --rate: another seed, other periods (default 1)")
      ->option_text("NUMBER");
  command
      ->add_option("--period", options->period,
                   fmt::format("With --rate: accesses in a sampling period (default {})", SamplingPlan::kUsualPeriod))
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 40))
      ->option_text("NUMBER");
  add_format_option(*command, options->format);
  command->add_option("-o,--output", options->output, "Write the report there, not to standard output")
      ->option_text("FILE");
  add_suppressions_option(*command, options->suppressions);
  command->add_flag("--strict-atomics", options->strict_atomics,
                    "C++20: a relaxed store of the releasing thread ends its release sequence");
  command->add_flag("--no-check", options->no_check, "Trust the trace: do not check that it is well formed");
  command->add_flag("--no-counts", options->no_counts,
                    "Do not read the trace again to count which locks the accesses to racing memory held");
  command->add_flag("--stats", options->stats, "Show how often each rule of the detector was applied");
  CLI::Option* const racez = command->add_flag("--racez", options->recording.is_single_block,
                                               "Recordings: rebuild within one basic block only, as RaceZ does");
  command->add_flag("--raw", options->recording.is_raw, "Recordings: the sampled instructions, nothing rebuilt")
      ->excludes(racez);
  command->add_flag("--suspects", options->recording.shows_suspects,
                    "Recordings: also pairs that an atomic operation may order");
  add_colour_option(*command, options->colour);
  add_name_option(*command);
  add_report_file_options(*command, options->files);
  add_store_options(*command, options->store);
  command->callback([options, &result] { result = analyze(*options); });
}

}  // namespace deadheat
