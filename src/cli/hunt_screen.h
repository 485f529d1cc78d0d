// SPDX-License-Identifier: Apache-2.0
// HuntScreen: where a hunt shows what. Progress goes to standard error, on a terminal
// with a line of what is under way; races, findings and the summary go there, too, or to
// the file of --output. With --format json the document takes the races and findings.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/common_options.h"
#include "cli/hunt_ledger.h"
#include "cli/hunt_record.h"
#include "cli/hunt_state.h"
#include "cli/output.h"

namespace deadheat {

struct HuntScreenOptions {
  ReportFormat format = ReportFormat::kText;
  std::optional<std::string> output;
  ColourChoice colour = ColourChoice::kAuto;
  bool quiet = false;
};

class HuntScreen {
 public:
  // `again`: the command that repeats a run, without its number. Errors: kIo.
  static Result<std::unique_ptr<HuntScreen>> open(const HuntScreenOptions& options, std::string again,
                                                  std::uint32_t runs);

  HuntScreen(const HuntScreen&) = delete;
  HuntScreen& operator=(const HuntScreen&) = delete;
  ~HuntScreen() { erase_live_line(); }

  void show_race(const HuntRace& race, std::uint64_t number);
  void show_finding(const HuntFinding& finding);
  void show_run(const RunRecord& run);
  // A line of the runtime; each is shown once.
  void show_notice(const std::string& notice);
  void show_warning(std::string_view warning);
  // What is under way; on a terminal only.
  [[nodiscard]] bool has_live_line() const { return has_live_line_; }
  void show_live_line(std::span<const std::unique_ptr<HuntRun>> active, const HuntLedger& ledger);

  // The end: the summary or the document. Errors: kIo.
  Status finish(const HuntLedger& ledger, const HuntSetup& setup);

 private:
  using Clock = std::chrono::steady_clock;

  HuntScreen(HuntScreenOptions options, std::string again, std::uint32_t runs, std::optional<Output> document);
  void say(std::string_view text);     // to people
  void report(std::string_view text);  // of what was found
  void erase_live_line();

  HuntScreenOptions options_;
  std::string again_;
  std::uint32_t runs_;
  std::optional<Output> document_;  // of JSON, or of text with --output
  std::string text_;                // for the document
  ColourMode colour_;
  bool has_live_line_;
  bool is_live_line_visible_ = false;
  Clock::time_point live_line_at_;
  std::set<std::string> notices_;
};

}  // namespace deadheat
