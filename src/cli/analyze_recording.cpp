// SPDX-License-Identifier: Apache-2.0
#include "cli/analyze_recording.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <string_view>

#include "cli/analysis_run.h"
#include "cli/messages.h"
#include "cli/progress.h"
#include "replay/perf_data.h"
#include "report/describe.h"
#include "report/finding_json.h"
#include "report/finding_text.h"
#include "report/recording_analysis.h"
#include "trace/recording_file.h"

namespace deadheat {

namespace {

double per(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::string format_recording_stats(const RecordingAnalysis& analysis, const Recording& recording) {
  const RecordingStats& stats = analysis.stats;
  const RecordingPhases& phases = stats.seconds;
  const double all = phases.all();
  std::string text =
      fmt::format("\nrecorded {:.2f} s by {}: {}, {}, {} of threads that have no log, {} lost\n", recording.seconds,
                  recording.backend, counted(stats.samples, "sample"), counted(stats.log_entries, "log record"),
                  recording.foreign_samples, recording.lost_samples);
  if (const replay::TracePathCounts& trace = stats.trace; trace.runs != 0) {
    text += fmt::format("trace: {} in {}, {}, {} lost by the processor; samples placed {}, not placed {}\n",
                        counted(trace.instructions, "instruction"), counted(trace.runs, "run"),
                        counted(trace.errors, "error"), counted(trace.overflows, "time"), grouped(trace.placed),
                        grouped(trace.unplaced));
  }
  text += fmt::format("accesses per sample: {:.2f} at the sampled instructions, {:.2f} with those rebuilt\n",
                      per(stats.sampled_accesses, stats.samples), per(stats.accesses, stats.samples));
  text +=
      fmt::format("  sampled {}, forward {}, backward {}, from the path alone {}\n", grouped(stats.sampled_accesses),
                  grouped(stats.forward), grouped(stats.backward), grouped(stats.pc_relative));
  text += fmt::format("  address by register {}, PC-relative {}, through memory {}; conflicts {}\n",
                      grouped(stats.by_register), grouped(stats.by_code), grouped(stats.by_memory), stats.conflicts);
  if (stats.accesses_on_path != 0) {
    text +=
        fmt::format("  {} of all accesses on the path\n", describe_share(per(stats.accesses, stats.accesses_on_path)));
  }
  text += fmt::format("compared {}; left out: stack {}, libraries {}, atomic {}, in no certain stretch {}\n",
                      grouped(stats.compared), grouped(stats.stack), grouped(stats.library), grouped(stats.atomic),
                      grouped(stats.unsure));
  text +=
      fmt::format("seconds: code {:.2f}, decode {:.2f}, rebuild {:.2f}, order {:.2f}, detect {:.2f}, together {:.2f}",
                  phases.code, phases.decode, phases.rebuild, phases.order, phases.detect, all);
  if (recording.seconds > 0) text += fmt::format(" ({:.2f} per recorded second)", all / recording.seconds);
  return text + "\n" + format_counters(analysis.races.counters);
}

// Why no pair could be compared; nothing if some could.
std::optional<std::string> reason_to_know_nothing(const RecordingStats& stats, const Recording& recording) {
  if (stats.samples == 0) return "the recording has no sample of the program";
  if (!recording.has_log) return "the recording has no log of synchronisation";
  if (stats.compared != 0) return std::nullopt;
  if (stats.accesses == 0) {
    return fmt::format("no access to memory could be rebuilt around {}", counted(stats.samples, "sample"));
  }
  return fmt::format("none of the {} accesses around {} could be compared", grouped(stats.accesses),
                     counted(stats.samples, "sample"));
}

void complete(Analysis& analysis, const std::string& directory, const RecordingChoices& choices) {
  analysis.tool_version = DEADHEAT_VERSION;
  analysis.trace_path = directory;
  analysis.detector_name = name_of(choices.detector);
}

// "N suspects" has no place in the report of races; its pairs are told one by one.
void say_suspects(const RecordingAnalysis& analysis, bool are_shown) {
  if (analysis.unlogged_order.empty()) return;
  std::string why = analysis.unlogged_order.front();
  if (analysis.unlogged_order.size() > 1) {
    why += fmt::format(" (and {} more)", counted(analysis.unlogged_order.size() - 1, "reason"));
  }
  print_note(fmt::format("no pair can be called a race for certain: {}", why));
  const std::size_t count = analysis.suspects.findings.size();
  if (count == 0) return;
  if (!are_shown) {
    print_note(fmt::format("{} that the log does not order; --suspects shows them, 'deadheat watch' can confirm them",
                           counted(count, "suspect")));
    return;
  }
  for (const Finding& finding : analysis.suspects.findings) {
    const Dictionary& dictionary = analysis.suspects.dictionary;
    print_note(fmt::format("suspect, not confirmed ({}): {} and {} on {}", counted(finding.occurrences, "time"),
                           innermost_place(finding.earlier, dictionary), innermost_place(finding.later, dictionary),
                           describe_address(finding.address, dictionary)));
  }
}

void say_trace(const replay::TracePathCounts& trace) {
  if (trace.errors != 0) {
    print_warning(fmt::format("Intel PT: {} of decoding, each a gap in a path; the first: {}",
                              counted(trace.errors, "error"), trace.first_error));
  }
  if (trace.unowned_runs != 0) {
    print_warning(fmt::format("Intel PT: {} of no known thread left out", counted(trace.unowned_runs, "run")));
  }
}

}  // namespace

bool is_recorded_run(const std::string& path) {
  if (is_recording(path)) return true;
  // A pipe gives its beginning only once, to who reads the rest.
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return false;
  std::ifstream file(path, std::ios::binary);
  char magic[8] = {};
  return file.read(magic, sizeof magic) && std::string_view(magic, sizeof magic) == "PERFILE2";
}

ExitCode analyze_recording(const std::string& directory, const RecordingChoices& choices, Output output) {
  auto recording = is_recording(directory) ? read_recording(directory) : replay::read_perf_data(directory);
  if (!recording.ok()) {
    print_error(about_file(directory, recording.error().message));
    return ExitCode::kFailure;
  }
  if (!recording.value().has_log) {
    print_warning(about_file(directory, "no log of synchronisation: no race can be told"));
  }
  RecordingRequest request;
  request.detector = choices.detector;
  request.reconstruction = choices.is_raw            ? Reconstruction::kNone
                           : choices.is_single_block ? Reconstruction::kSingleBlock
                                                     : Reconstruction::kFull;
  RecordingAnalysis analysis;
  {
    ProgressLine progress;
    request.progress = [&progress](std::uint64_t done, std::uint64_t total, std::uint64_t accesses) {
      progress.update({done, total}, accesses);
    };
    analysis = analyse_recording(recording.value(), request);
  }
  hide_suppressed(analysis.races, choices.suppressions);
  hide_suppressed(analysis.suspects, choices.suppressions);
  complete(analysis.races, directory, choices);
  complete(analysis.suspects, directory, choices);
  for (Analysis* const one : {&analysis.races, &analysis.suspects}) {
    one->nothing_seen = reason_to_know_nothing(analysis.stats, recording.value());
  }
  const ColourMode colour = colour_for(choices.colour, output.descriptor());
  std::string text;
  if (choices.format == ReportFormat::kJson) {
    text = format_json_report(analysis.races);
  } else {
    text = format_text_report(analysis.races, colour);
    if (choices.has_stats) text += format_recording_stats(analysis, recording.value());
  }
  const bool to_file = output.is_file();
  if (const Status written = output.write(text); !written.ok()) {
    print_error(written.error().message);
    return ExitCode::kFailure;
  }
  if (to_file) fmt::print(stderr, "{}", format_summary(analysis.races, ColourMode::kPlain));
  for (const std::string& warning : analysis.warnings) print_warning(warning);
  say_trace(analysis.stats.trace);
  if (recording.value().incomplete) print_warning(about_file(directory, *recording.value().incomplete));
  say_suspects(analysis, choices.shows_suspects);
  return choices.deliver(analysis.races, analysis.stats.seconds.all());
}

}  // namespace deadheat
