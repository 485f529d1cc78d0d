// SPDX-License-Identifier: Apache-2.0
#include "cli/live_output.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "cli/messages.h"
#include "report/describe.h"
#include "report/finding_json.h"
#include "report/live_text.h"
#include "report/race_groups.h"
#include "report/race_record.h"

namespace deadheat {

namespace {

constexpr std::string_view kProcessMark = "%p";

bool names_processes(const LiveOutputOptions& options) {
  return options.log_path && options.log_path->find(kProcessMark) != std::string::npos;
}

RaceName baseline_name_of(const LiveRace& race) {
  return {race.fingerprint, old_fingerprint_of(race.live.finding, race.live.dictionary)};
}

// As they are shown.
std::vector<NumberedRace> numbered(LiveReport& report) {
  std::vector<NumberedRace> races;
  for (const LiveRace& race : report.races()) {
    if (!race.is_suppressed) races.push_back({races.size() + 1, &race.live.finding, &race.live.dictionary});
  }
  return races;
}

std::string path_for(std::string path, std::uint32_t process) {
  const std::string number = std::to_string(process);
  for (std::size_t at = 0; (at = path.find(kProcessMark, at)) != std::string::npos; at += number.size()) {
    path.replace(at, kProcessMark.size(), number);
  }
  return path;
}

std::vector<std::string> sampling_lines(const LiveReport& report, const LiveEnding& ending) {
  if (const auto sampling = report.sampling()) return describe_sampling(*sampling);
  if (const auto cold = report.cold_calls()) return describe_cold_calls(*cold);
  if (ending.cold_sampling_requested && report.process_count() != 0) {
    return {
        "how many calls were sampled is not known: the program's runtime did not say (it was killed, or is too old for "
        "--sampler cold)"};
  }
  if (!ending.sampling_requested || report.process_count() == 0) return {};
  return {
      "which share of the work was sampled is not known: the program's runtime did not say (it was killed, or is too "
      "old for sampling)"};
}

}  // namespace

Result<LiveOutput> LiveOutput::open(const LiveOutputOptions& options, int descriptor, StoredRun run) {
  if (Status status = check_named_store(options.store); !status.ok()) return status.error();
  auto files = ReportFiles::open(options.files);
  if (!files.ok()) return files.error();
  std::optional<std::string> text_path = options.log_path;
  std::optional<Output> document;
  if (options.format == ReportFormat::kJson) {
    auto opened = Output::open(options.output);
    if (!opened.ok()) return opened.error();
    document.emplace(std::move(opened).value());
  } else if (!text_path && options.output && *options.output != "-") {
    text_path = options.output;
  } else if (options.output == "-") {
    descriptor = STDOUT_FILENO;
  }
  std::unique_ptr<LogFile> log;
  if (text_path && !names_processes(options)) {
    auto opened = LogFile::open(*text_path);
    if (!opened.ok()) return opened.error();
    log = std::move(opened).value();
  }
  return LiveOutput(options, descriptor, std::move(log), std::move(document), std::move(files).value(), std::move(run));
}

int LiveOutput::descriptor_for(std::uint32_t process) {
  if (!names_processes(options_) || process == 0) return descriptor_;
  const auto [place, is_new] = logs_.try_emplace(process);
  if (is_new) {
    auto opened = LogFile::open(path_for(*options_.log_path, process));
    if (opened.ok()) {
      place->second = std::move(opened).value();
    } else {
      note_failure(opened.error());
    }
  }
  return place->second ? place->second->descriptor() : STDERR_FILENO;
}

void LiveOutput::note_failure(const Error& error) {
  print_warning(error.message + "; the text goes on here");
  if (!failure_) failure_ = error;
}

void LiveOutput::write(std::uint32_t process, std::string_view text) {
  int descriptor = failure_ ? STDERR_FILENO : descriptor_for(process);
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      if (descriptor == STDERR_FILENO) return;
      note_failure({ErrorCode::kIo, fmt::format("cannot write the report: {}", system_message(errno))});
      descriptor = STDERR_FILENO;
      continue;
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void LiveOutput::show(const LiveReport::News& news, std::uint32_t process) {
  if (news.notice && !options_.quiet) {
    write(process, fmt::format("deadheat: process {}: {}\n", process, printable(*news.notice)));
  }
  if (news.race == nullptr) return;
  store_.add(run_, {sighting_of(*news.race)});
  show_race(*news.race, process);
}

void LiveOutput::show_race(const LiveRace& race, std::uint32_t process) {
  if (options_.format == ReportFormat::kJson) return;
  const ColourMode colour = colour_for(options_.colour, descriptor_for(process));
  write(process, format_live_race(race, ++shown_, colour) + "\n");
}

bool LiveOutput::is_known(const LiveRace& race) const { return files_.baseline().knows(baseline_name_of(race)); }

std::uint64_t LiveOutput::failing_count(LiveReport& report) const {
  std::vector<RaceName> names;
  for (const LiveRace& race : report.races()) {
    if (!race.is_suppressed) names.push_back(baseline_name_of(race));
  }
  const std::vector<bool> known = files_.baseline().known_of(names);
  return static_cast<std::uint64_t>(std::ranges::count(known, false));
}

void LiveOutput::keep(LiveReport& report, const LiveEnding& ending, const std::vector<Sighting>& races) {
  store_.add(run_, races);
  if (const auto sampling = report.sampling()) {
    run_.rate = share_of_million(sampling->totals.rate);
    run_.effective_rate = effective_rate(sampling->totals);
    run_.overhead = cost_share(sampling->totals);
  }
  if (ending.overhead) run_.overhead = ending.overhead;
  run_.status = status_words(ending.exit_status, ending.signal, "done");
  store_.finish(run_);
}

void LiveOutput::show_all(LiveReport& report) {
  shows_counts_with_races_ = true;
  for (const LiveRace& race : report.races()) {
    if (!race.is_suppressed) show_race(race, race.live.process);
  }
}

Status LiveOutput::finish(LiveReport& report, const LiveEnding& ending) {
  const ColourMode colour = colour_for(options_.colour, descriptor_);
  std::vector<Sighting> races;
  for (const LiveRace& race : report.races()) {
    if (!race.is_suppressed) races.push_back(sighting_of(race));
  }
  keep(report, ending, races);
  const RaceReport reported = files_.report_of(ending.program, std::move(races));
  std::string text;
  if (!options_.quiet) {
    for (const std::string& loss : describe_losses(report)) text += fmt::format("deadheat: warning: {}\n", loss);
    if (ending.problem) text += fmt::format("deadheat: warning: {}\n", printable(*ending.problem));
    if (!shows_counts_with_races_) {
      for (const std::string& line : describe_counts(report)) text += fmt::format("deadheat: {}\n", line);
    }
    for (const std::string& line : describe_groups(numbered(report))) text += fmt::format("deadheat: {}\n", line);
    const std::string totals = ending.nothing_seen ? printable(*ending.nothing_seen) : describe_totals(report, colour);
    text += fmt::format("deadheat: {}{}\n", totals, ending.words);
    const std::string compared = files_.describe_baseline(reported);
    if (!compared.empty()) text += fmt::format("deadheat: {}\n", compared);
    for (const std::string& line : sampling_lines(report, ending)) text += fmt::format("deadheat: {}\n", line);
  }
  if (options_.stats) text += format_live_stats(report);
  const auto json = [&] {
    return format_live_json_report(report, {DEADHEAT_VERSION, ending.program, ending.exit_status, ending.signal,
                                            ending.problem, ending.sampling_requested, ending.cold_sampling_requested});
  };
  Status shown = store_.status();
  if (options_.format == ReportFormat::kText) {
    write(0, text);
  } else {
    const Status document = write_document(json(), text);
    if (shown.ok()) shown = document;
  }
  const Status written = files_.write(reported, json);
  if (shown.ok()) shown = written;
  if (shown.ok() && failure_) shown = *failure_;
  return shown;
}

Status LiveOutput::write_document(const std::string& json, const std::string& text) {
  const bool is_among_text = takes_standard_output() && descriptor_ == STDOUT_FILENO;
  Status status = document_->write(json);
  // The document is elsewhere: people get the summary.
  if (!is_among_text) write(0, text);
  return status;
}

void add_live_options(CLI::App& command, LiveOutputOptions& options, std::vector<std::string>& suppressions) {
  add_format_option(command, options.format);
  command.add_option("-o,--output", options.output, "Write the report to this file")->option_text("FILE");
  add_suppressions_option(command, suppressions);
  command.add_flag("--stats", options.stats, "Show what the detector did, and what each suppression hid");
  add_colour_option(command, options.colour);
  add_name_option(command);
  add_report_file_options(command, options.files);
  add_store_options(command, options.store);
}

}  // namespace deadheat
