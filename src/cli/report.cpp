// SPDX-License-Identifier: Apache-2.0
// `deadheat report`: the races in the raw files that an observed program leaves
// when it was not started by `deadheat run`; without files, those of the store.
//
// A program that was killed leaves a file that ends in the middle of a packet:
// what is complete is shown, and that there may be more is said.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/html_output.h"
#include "cli/live_output.h"
#include "cli/messages.h"
#include "cli/store_report.h"
#include "report/file_content.h"
#include "report/live_report.h"

namespace deadheat {

namespace {

struct ReportOptions {
  LiveOutputOptions output;
  std::vector<std::string> suppressions;
  std::vector<std::string> files;
  RaceSelection selection;
};

constexpr char kReportFooter[] =
    R"(A program built with 'deadheat c++' that is started directly writes its races to a file
and says so. This command makes words of it; the program's own file should still be
there, for its symbols. Give the files of all processes of one run together. Without a
file it is about the open races of the store, in which every run is kept.

Examples:
  deadheat report deadheat.4711.raw
  deadheat report --format json -o races.json deadheat.*.raw
  deadheat report --html races.html deadheat.*.raw  as a page for a browser
  deadheat report --html races.html races.json   the same from a JSON report
  deadheat report --html races.html              the same of the store
  deadheat report --sarif races.sarif            the store's open races, for code scanning
  deadheat report --run latest --junit races.xml --github
  deadheat report --new-only                     what the latest run brought

Exit codes: 0 no race; 66 races found (that are not in the --baseline); 1 bad file or
failure; 2 bad usage; 3 nothing is known: an empty file, or one that was cut off before it
tells of a race.)";

struct FileOutcome {
  std::optional<std::string> problem;  // after some packets: shown as a warning
  std::optional<Error> error;          // nothing could be read
};

// A raw file, read once: it may be a pipe.
struct RawFile {
  std::string path;
  Result<std::string> content;
};

FileOutcome read_into(const RawFile& file, LiveReport& report) {
  const std::string& path = file.path;
  if (!file.content.ok()) {
    return {{}, Error{ErrorCode::kIo, fmt::format("cannot read '{}': {}", path, file.content.error().message)}};
  }
  const std::string& content = file.content.value();
  if (content.empty()) return {fmt::format("'{}' is empty", path), {}};
  RawPacketReader reader(std::as_bytes(std::span(content)));
  std::uint64_t packets = 0;
  std::optional<std::string> problem;
  while (const auto bytes = reader.next()) {
    const auto packet = parse_packet(*bytes);
    if (packet.ok()) {
      const auto news = report.add(packet.value());
      if (news.notice) print_note(fmt::format("process {}: {}", packet.value().process, *news.notice));
    } else if (!problem) {
      problem = about_file(path, packet.error().message);
    }
    ++packets;
  }
  if (reader.damage()) {
    std::string message = about_file(path, reader.damage()->message);
    if (packets == 0) return {{}, Error{ErrorCode::kMalformed, std::move(message)}};
    problem = std::move(message) + "; the report has what comes before";
  }
  return {std::move(problem), {}};
}

ExitCode report(const ReportOptions& options) {
  const auto failed = [](const Error& error, ExitCode code) {
    print_error(error.message);
    return code;
  };
  std::vector<RawFile> files;
  for (const std::string& path : options.files) files.push_back({path, file_content(path)});
  if (files.size() == 1 && files[0].content.ok()) {
    const auto done = report_document(files[0].path, files[0].content.value(), options.output.files.html);
    if (done) return *done;
  }
  auto suppressions = read_suppressions(options.suppressions);
  if (!suppressions.ok()) return failed(suppressions.error(), ExitCode::kFailure);
  StoredRun stored;
  stored.mode = "report";
  stored.program = options.files.front();
  auto output = LiveOutput::open(options.output, STDOUT_FILENO, std::move(stored));
  if (!output.ok()) return failed(output.error(), ExitCode::kFailure);
  // Debug information comes from this machine, without downloads.
  unsetenv("DEBUGINFOD_URLS");
  LiveReport live(std::move(suppressions).value());
  LiveEnding ending;
  ending.program = options.files.front();
  bool has_failed = false;
  for (const RawFile& file : files) {
    FileOutcome outcome = read_into(file, live);
    if (outcome.problem) ending.problem = std::move(outcome.problem);
    if (outcome.error) print_error(outcome.error->message);
    has_failed = has_failed || outcome.error.has_value();
  }
  if (has_failed && live.process_count() == 0) return ExitCode::kFailure;
  // A program that has no race to tell writes no file: what tells none was cut off.
  const bool is_cut_off = ending.problem.has_value() && live.race_count() == 0 && live.suppressed_count() == 0;
  if (live.process_count() == 0 || is_cut_off) ending.nothing_seen = "nothing is known";
  output.value().begin();
  output.value().show_all(live);
  if (const Status status = output.value().finish(live, ending); !status.ok()) {
    return failed(status.error(), ExitCode::kFailure);
  }
  if (has_failed) return ExitCode::kFailure;
  if (output.value().failing_count(live) != 0) return ExitCode::kRacesFound;
  return ending.nothing_seen ? ExitCode::kNothingSeen : ExitCode::kSuccess;
}

}  // namespace

void add_report_command(CLI::App& app, ExitCode& result) {
  auto options = std::make_shared<ReportOptions>();
  CLI::App* command = app.add_subcommand("report", "Show the races of the store, or of a directly started program");
  command->footer(kReportFooter);
  add_live_options(*command, options->output, options->suppressions);
  add_race_selection(*command, options->selection);
  command->add_option("FILES", options->files, "The raw files; none: the store")->option_text("FILE...");
  command->callback([options, &result] {
    result = options->files.empty() ? report_store(options->output, options->suppressions, options->selection)
                                    : report(*options);
  });
}

}  // namespace deadheat
