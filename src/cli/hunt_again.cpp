// SPDX-License-Identifier: Apache-2.0
#include "cli/hunt_again.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>

#include "cli/hunt_run.h"
#include "cli/hunt_state.h"
#include "cli/launch.h"
#include "cli/live_output.h"
#include "cli/messages.h"
#include "cli/terminal.h"
#include "report/describe.h"
#include "schedule/run_files.h"

namespace deadheat {

namespace {

Error no_such_run(std::uint32_t number, const std::string& directory, std::size_t runs) {
  return {ErrorCode::kInvalid,
          fmt::format("the hunt in '{}' has no run {}; it had {}", directory, number, counted(runs, "run"))};
}

// Errors: kInvalid (there is no such run), and those of the files.
Result<HuntRunRequest> repetition_of(std::uint32_t number, const std::string& directory, const HuntState& state) {
  const auto same = [&](const HuntState::Run& run) { return run.number == number; };
  const auto found = std::find_if(state.runs.begin(), state.runs.end(), same);
  if (found == state.runs.end()) return no_such_run(number, directory, state.runs.size());
  HuntRunRequest request;
  request.number = number;
  request.seed = found->seed;
  request.is_repetition = true;
  request.schedule_in = fmt::format("{}/run-{}.schedule", directory, number);
  request.schedule_out = fmt::format("{}/again-{}.schedule", directory, number);
  request.depth = state.setup.depth;
  request.time_limit = state.setup.time_limit;
  std::error_code ignored;
  if (!std::filesystem::exists(request.schedule_in, ignored)) {
    return Error{
        ErrorCode::kInvalid,
        fmt::format("run {} cannot be repeated: '{}' is not there. A hunt keeps the files of its last run and of "
                    "runs that found something new",
                    number, request.schedule_in)};
  }
  if (const auto run = schedule::read_run_file(request.schedule_in); !run.ok()) return run.error();
  return request;
}

// Until the program has ended; Ctrl-C ends it.
void watch_repetition(HuntRun& run, const WatchedSignals& signals, const HuntRunNews& news) {
  while (!run.is_over()) {
    pollfd waits[] = {{run.channel(), POLLIN, 0}, {signals.descriptor(), POLLIN, 0}};
    poll(waits, 2, run.time_left());
    if (waits[1].revents != 0) {
      while (const auto signal = signals.next()) {
        if (signal->number == SIGCHLD) {
          run.notice_end();
        } else if (signal->number != SIGUSR1 && signal->number != SIGUSR2) {
          run.interrupt();
        }
      }
    }
    if (waits[0].revents != 0) run.receive(news);
    run.check_time();
  }
}

std::string describe_closeness(const HuntState::Run& before, const RunRecord& now) {
  std::string text = now.counters.diverged == 0
                         ? "every lock was taken in the order of that run"
                         : counted(now.counters.diverged, "acquisition") + " diverged from that run";
  if (now.counters.steps == 0 && now.counters.requests == 0) {
    text = "the program's runtime scheduled nothing, so this was an ordinary run";
  }
  if (before.fingerprints.empty()) return text;
  const auto is_there = [&](const std::string& fingerprint) {
    return std::find(now.fingerprints.begin(), now.fingerprints.end(), fingerprint) != now.fingerprints.end();
  };
  const auto seen = std::count_if(before.fingerprints.begin(), before.fingerprints.end(), is_there);
  return text + fmt::format("; {} of its {} seen again", seen, counted(before.fingerprints.size(), "race"));
}

LiveEnding ending_of(const RunRecord& record, HuntRun& run, const std::string& program) {
  LiveEnding ending;
  ending.program = program;
  ending.exit_status = record.exit_status;
  ending.signal = record.signal;
  if (record.end == RunEnd::kDeadlock) {
    ending.words = "; program was deadlocked";
  } else if (record.signal) {
    ending.words = fmt::format("; program was killed by signal {} ({})", *record.signal, strsignal(*record.signal));
  } else if (record.exit_status) {
    ending.words = fmt::format("; program ended with status {}", *record.exit_status);
  } else {
    ending.words = "; program was ended";
  }
  if (run.report().process_count() == 0) {
    ending.nothing_seen = "nothing was checked";
    ending.problem = "nothing that ran was built for race detection";
  }
  if (run.damaged_reports() != 0) ending.problem = counted(run.damaged_reports(), "report") + " could not be read";
  return ending;
}

// One repetition, from its preparation to the summary. Each step says what went wrong in
// its Error.
class Repetition {
 public:
  Repetition(std::uint32_t number, const HuntScreenOptions& options, RunSettings settings)
      : number_(number), options_(options), settings_(std::move(settings)) {}

  // Reads what the hunt left, and goes where it was.
  Status prepare(const std::string& path) {
    const auto directory = absolute_directory(path);
    if (!directory.ok()) return directory.error();
    auto state = read_hunt_state(directory.value());
    if (!state.ok()) return state.error();
    state_ = std::move(state).value();
    auto request = repetition_of(number_, directory.value(), state_);
    if (!request.ok()) return request.error();
    request_ = std::move(request).value();
    std::error_code error;
    std::filesystem::current_path(state_.setup.working_directory, error);
    if (!error) return {};
    return Error{ErrorCode::kIo, fmt::format("cannot go to '{}', where the hunt was: {}",
                                             state_.setup.working_directory, error.message())};
  }

  Result<ExitCode> run() {
    const auto& files = state_.setup.suppressions;
    settings_.suppressions.insert(settings_.suppressions.end(), files.begin(), files.end());
    auto suppressions = read_suppressions(settings_.suppressions);
    if (!suppressions.ok()) return suppressions.error();
    ExitCode result = ExitCode::kFailure;
    auto plan = make_launch_plan(state_.setup.command, settings_, Uninstrumented::kRun, result);
    if (!plan) return result;
    symbolise_locally(*plan);
    LiveOutputOptions live;
    live.format = options_.format;
    live.output = options_.output;
    live.colour = options_.colour;
    live.quiet = options_.quiet;
    auto output = LiveOutput::open(live, STDERR_FILENO, {});  // a repetition is not kept
    if (!output.ok()) return output.error();
    const auto signals = WatchedSignals::open();
    if (!signals.ok()) return signals.error();
    const auto started = HuntRun::start(*plan, request_, *signals.value(), std::move(suppressions).value(),
                                        std::make_shared<Symbolizer>());
    if (!started.ok()) return started.error();
    return watch(*started.value(), *signals.value(), output.value(), plan->path);
  }

 private:
  Result<ExitCode> watch(HuntRun& run, const WatchedSignals& signals, LiveOutput& output, const std::string& program) {
    watch_repetition(run, signals,
                     {[&](const LiveRace& race) { output.show({&race, std::nullopt}, race.live.process); },
                      [&](const std::string& notice) { output.show({nullptr, notice}, 0); }});
    const RunRecord record = run.finish();
    ::unlink(request_.schedule_out.c_str());
    if (run.deadlock()) {
      const std::string cycle = format_deadlock(*run.deadlock(), colour_for(options_.colour, STDERR_FILENO));
      std::fwrite(cycle.data(), 1, cycle.size(), stderr);
    }
    if (Status status = output.finish(run.report(), ending_of(record, run, program)); !status.ok()) {
      return status.error();
    }
    const auto same = [&](const HuntState::Run& known) { return known.number == number_; };
    const auto before = std::find_if(state_.runs.begin(), state_.runs.end(), same);
    if (!options_.quiet) print_note(fmt::format("run {} again: {}", number_, describe_closeness(*before, record)));
    const bool is_bad = record.end == RunEnd::kCrashed || record.end == RunEnd::kDeadlock;
    if (record.fingerprints.empty() && !is_bad) {
      return run.report().process_count() == 0 ? ExitCode::kNothingSeen : ExitCode::kSuccess;
    }
    return exit_code(settings_.exit_code.value_or(kDefaultRaceExitCode));
  }

  std::uint32_t number_;
  const HuntScreenOptions& options_;
  RunSettings settings_;
  HuntState state_;
  HuntRunRequest request_;
};

}  // namespace

ExitCode hunt_again(std::uint32_t number, const std::string& directory, const HuntScreenOptions& options,
                    RunSettings settings) {
  const auto failed_with = [](const Error& error) {
    print_error(error.message);
    return error.code == ErrorCode::kInvalid ? ExitCode::kUsage : ExitCode::kFailure;
  };
  Repetition repetition(number, options, std::move(settings));
  if (const Status status = repetition.prepare(directory); !status.ok()) return failed_with(status.error());
  const auto result = repetition.run();
  return result.ok() ? result.value() : failed_with(result.error());
}

}  // namespace deadheat
