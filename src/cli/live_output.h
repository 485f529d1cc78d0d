// SPDX-License-Identifier: Apache-2.0
// LiveOutput: where `run` and `report` show races, and in which form.
//
// Text goes out race by race, as soon as one is known, because the program may
// never end by itself; JSON is one document at the end. A file that cannot be
// opened is an error before the program starts; one that cannot be written later
// (the disk is full) is said once, and the program goes on.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

#include "base/result.h"
#include "cli/common_options.h"
#include "cli/output.h"
#include "report/live_report.h"

namespace deadheat {

struct LiveOutputOptions {
  ReportFormat format = ReportFormat::kText;
  std::optional<std::string> output;
  std::optional<std::string> html;
  // Text for people goes there instead of to standard error; "%p" becomes the
  // number of the process that a race was found in.
  std::optional<std::string> log_path;
  ColourChoice colour = ColourChoice::kAuto;
  bool stats = false;
  bool quiet = false;
};

// What happened, for the summary.
struct LiveEnding {
  std::string program;
  std::string words;               // "; program ended with status 0"; may be empty
  std::optional<int> exit_status;  // unless killed by a signal, or not known
  std::optional<int> signal;
  std::optional<std::string> problem;  // why the report is not complete
  bool sampling_requested = false;
  bool cold_sampling_requested = false;
};

class LiveOutput {
 public:
  // `descriptor` is where text goes without an option. Errors: kIo.
  static Result<LiveOutput> open(const LiveOutputOptions& options, int descriptor);

  LiveOutput(LiveOutput&& other) noexcept = default;
  LiveOutput(const LiveOutput&) = delete;
  LiveOutput& operator=(LiveOutput&&) = delete;
  LiveOutput& operator=(const LiveOutput&) = delete;
  ~LiveOutput();

  // What a packet brought.
  void show(const LiveReport::News& news, std::uint32_t process);
  // All races of a finished report, in text.
  void show_all(LiveReport& report);
  // Losses, the summary line, what sampling found out, --stats, JSON. Errors: kIo (the JSON document).
  Status finish(LiveReport& report, const LiveEnding& ending);

 private:
  LiveOutput(LiveOutputOptions options, int descriptor, std::optional<Output> document, std::optional<Output> page)
      : options_(std::move(options)), descriptor_(descriptor), document_(std::move(document)), page_(std::move(page)) {}
  void write(std::uint32_t process, std::string_view text);
  int descriptor_for(std::uint32_t process);

  LiveOutputOptions options_;
  int descriptor_;
  std::optional<Output> document_;  // of JSON
  std::optional<Output> page_;      // of --html
  std::map<std::uint32_t, int> logs_;
  std::uint64_t shown_ = 0;
  bool has_complained_ = false;
};

// --format, --output, --suppressions, --stats, --color, as both commands have them.
void add_live_options(CLI::App& command, LiveOutputOptions& options, std::vector<std::string>& suppressions);

// Reads all files. Errors: those of Suppressions.
[[nodiscard]] Result<Suppressions> read_suppressions(const std::vector<std::string>& paths);

}  // namespace deadheat
