// SPDX-License-Identifier: Apache-2.0
// LiveOutput: where `run`, `watch` and `report` show races, in which form, and where they are kept.
//
// Text goes out race by race, as soon as one is known, because the program may
// never end by itself, and is in the store by then; documents come at the end. A file that cannot be
// opened is an error before the program starts; one that cannot be written later
// (the disk is full) is said once, the program goes on, and the command fails in the end.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

#include "base/result.h"
#include "cli/common_options.h"
#include "cli/output.h"
#include "cli/report_files.h"
#include "cli/store_writer.h"
#include "report/live_report.h"

namespace deadheat {

struct LiveOutputOptions {
  ReportFormat format = ReportFormat::kText;
  std::optional<std::string> output;
  // Text for people goes there instead of to standard error; "%p" becomes the
  // number of the process that a race was found in.
  std::optional<std::string> log_path;
  ColourChoice colour = ColourChoice::kAuto;
  bool stats = false;
  bool quiet = false;
  StoreOptions store;
  ReportFileOptions files;
};

// What happened, for the summary.
struct LiveEnding {
  std::string program;
  std::string words;               // "; program ended with status 0"; may be empty
  std::optional<int> exit_status;  // unless killed by a signal, or not known
  std::optional<int> signal;
  std::optional<std::string> problem;  // why the report is not complete
  // In place of "no data races", of a run that says nothing about races: "nothing was checked".
  std::optional<std::string> nothing_seen;
  bool sampling_requested = false;
  bool cold_sampling_requested = false;
  std::optional<double> overhead;  // share of the time, if it is not the report that knows
};

class LiveOutput {
 public:
  // `descriptor` is where text goes without an option; `run` is what the store is told of it: mode,
  // program, arguments, rate. Errors: kIo; those of ReportFiles.
  static Result<LiveOutput> open(const LiveOutputOptions& options, int descriptor, StoredRun run);

  LiveOutput(LiveOutput&& other) noexcept = default;
  LiveOutput(const LiveOutput&) = delete;
  LiveOutput& operator=(LiveOutput&&) = delete;
  LiveOutput& operator=(const LiveOutput&) = delete;
  ~LiveOutput() = default;

  // Whether standard output is for the document alone: a program that we start writes to standard error.
  [[nodiscard]] bool takes_standard_output() const { return document_ && !document_->is_file(); }
  // The program runs.
  void begin() { store_.begin(run_); }
  // What a packet brought. A race is in the store when this returns.
  void show(const LiveReport::News& news, std::uint32_t process);
  // Whether a race is in the baseline.
  [[nodiscard]] bool is_known(const LiveRace& race) const;
  // How many races count for the exit code.
  [[nodiscard]] std::uint64_t failing_count(LiveReport& report) const;
  // All races of a finished report, in text.
  void show_all(LiveReport& report);
  // Losses, the summary line, what sampling found out, --stats, documents. Everything is tried; the error is the
  // first of anything that could not be written, the text and a store that --store names included: kIo.
  Status finish(LiveReport& report, const LiveEnding& ending);

 private:
  LiveOutput(LiveOutputOptions options, int descriptor, std::unique_ptr<LogFile> log, std::optional<Output> document,
             ReportFiles files, StoredRun run)
      : options_(std::move(options)),
        log_(std::move(log)),
        descriptor_(log_ ? log_->descriptor() : descriptor),
        document_(std::move(document)),
        files_(std::move(files)),
        store_(options_.store),
        run_(std::move(run)) {}
  void show_race(const LiveRace& race, std::uint32_t process);
  void keep(LiveReport& report, const LiveEnding& ending, const std::vector<Sighting>& races);
  Status write_document(const std::string& json, const std::string& text);
  void write(std::uint32_t process, std::string_view text);
  int descriptor_for(std::uint32_t process);
  void note_failure(const Error& error);

  LiveOutputOptions options_;
  std::unique_ptr<LogFile> log_;  // of all processes, if text goes to a file
  int descriptor_;
  std::optional<Output> document_;  // of JSON: standard output, or a file
  ReportFiles files_;
  StoreWriter store_;
  StoredRun run_;
  std::map<std::uint32_t, std::unique_ptr<LogFile>> logs_;  // null: it cannot be written
  std::uint64_t shown_ = 0;
  bool shows_counts_with_races_ = false;  // they came after all that was counted
  std::optional<Error> failure_;          // of writing text: standard error has the rest
};

// --format, --output, --suppressions, --stats, --color, those of the store and of other reports.
void add_live_options(CLI::App& command, LiveOutputOptions& options, std::vector<std::string>& suppressions);

}  // namespace deadheat
