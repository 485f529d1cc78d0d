// SPDX-License-Identifier: Apache-2.0
// HuntRun: one run of the program in a hunt, from its start to its record.
//
// The program is in a process group of its own, with no input, and ends in one of
// these ways: by itself; at its time limit, when the group gets SIGTERM and, if that
// does not help, SIGKILL; when its threads wait for each other, which the runtime
// writes to the run file; when the user ends the hunt.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "cli/hunt_files.h"
#include "cli/hunt_record.h"
#include "cli/run_child.h"
#include "report/live_report.h"

namespace deadheat {

struct HuntRunRequest {
  std::uint32_t number = 0;
  RunStrategy strategy = RunStrategy::kNative;
  std::uint64_t seed = 0;
  bool is_repetition = false;  // of the run in `schedule_in`
  std::string schedule_in;     // absolute paths; empty: none
  std::string schedule_out;
  std::optional<std::string> output;  // file for what the program prints; none: it is passed through
  std::optional<std::uint32_t> depth;
  std::chrono::milliseconds time_limit{0};
};

// What a hunt hears of a run while it is under way.
struct HuntRunNews {
  std::function<void(const LiveRace&)> race;
  std::function<void(const std::string&)> notice;
};

class HuntRun {
 public:
  // `plan` is that of make_launch_plan(). Errors: kIo.
  static Result<std::unique_ptr<HuntRun>> start(const ChildRequest& plan, HuntRunRequest request,
                                                const WatchedSignals& signals, Suppressions suppressions,
                                                std::shared_ptr<Symbolizer> symbolizer);

  [[nodiscard]] const HuntRunRequest& request() const { return request_; }
  [[nodiscard]] double seconds() const;

  // To poll for input (-1: not any more), and for how many milliseconds at most.
  [[nodiscard]] int channel() const { return child_->channel(); }
  [[nodiscard]] int time_left() const;
  void receive(const HuntRunNews& news);
  // After SIGCHLD.
  void notice_end();
  // Whenever poll() returned: ends the program where it is time to.
  void check_time();
  // The first time politely.
  void interrupt();
  [[nodiscard]] bool is_over() const { return child_->is_over(); }

  // When it is over: what there is to say of the run alone. Once.
  [[nodiscard]] RunRecord finish();

  // After finish().
  [[nodiscard]] LiveReport& report() { return report_; }
  [[nodiscard]] const std::optional<LiveDeadlock>& deadlock() const { return deadlock_; }
  // Why the run file cannot be used, if so.
  [[nodiscard]] const std::optional<Error>& damage() const { return damage_; }
  [[nodiscard]] std::uint64_t damaged_reports() const { return damaged_reports_; }

 private:
  using Clock = std::chrono::steady_clock;

  HuntRun(HuntRunRequest request, Suppressions suppressions, std::shared_ptr<Symbolizer> symbolizer);
  void end_program(RunEnd cause, int signal);
  void take(std::span<const std::byte> bytes, const HuntRunNews& news);
  void read_run_file(RunRecord& record);
  [[nodiscard]] RunEnd end_of(int wait_status) const;

  HuntRunRequest request_;
  LiveReport report_;
  std::unique_ptr<HuntRunFile> file_;
  std::unique_ptr<ChildProcess> child_;
  Clock::time_point started_;
  std::optional<Clock::time_point> ended_;
  std::optional<RunEnd> cause_;                   // why we ended it
  std::optional<Clock::time_point> kill_at_;      // if it has not ended by then
  std::optional<Clock::time_point> deadlock_at_;  // since when we know
  std::uint32_t speaker_ = 0;                     // a process with modules, the program itself if it has any
  std::uint64_t damaged_reports_ = 0;
  std::optional<LiveDeadlock> deadlock_;
  std::optional<Error> damage_;
};

}  // namespace deadheat
