// SPDX-License-Identifier: Apache-2.0
#include "cli/record_session.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <memory>
#include <system_error>

#include "cli/launch.h"
#include "cli/messages.h"
#include "cli/run_child.h"
#include "record/intel_events.h"
#include "report/describe.h"

namespace deadheat {

namespace {

using Clock = std::chrono::steady_clock;

// Samples are fetched when a quarter of their room is full, which is three times a second at 1 kHz, and at least so
// often. Each time costs 70 microseconds of a processor that the program may need.
constexpr int kPatienceMs = 500;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

std::uint64_t size_of_directory(const std::string& directory) {
  std::uint64_t size = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) size += entry.file_size(error);
  return size;
}

// Signals go on to the program, unless the terminal sent them to both.
void pass_on(const WatchedSignals& signals, ChildProcess& child) {
  while (const auto signal = signals.next()) {
    if (signal->number == SIGCHLD) {
      child.notice_end();
    } else if (!signal->is_from_terminal && !child.has_ended()) {
      child.send(signal->number);
    }
  }
}

class SampleLoop {
 public:
  SampleLoop(const RecordPlan& plan, record::Sampler& sampler, RecordingWriter& writer)
      : plan_(plan), sampler_(sampler), writer_(writer), begin_(Clock::now()) {}

  ChildEnd run(ChildProcess& child, const WatchedSignals& signals) {
    const auto process = static_cast<std::uint32_t>(child.process());
    child.notice_end();
    while (!child.is_over()) {
      wait(child, signals);
      pass_on(signals, child);
      if (child.channel() >= 0) child.receive([](auto, int) { return AfterPacket::kGoOn; });
      if (!is_enough()) fetch(process);
    }
    if (!is_enough()) fetch(process);
    seconds_ = std::min(seconds_since(begin_), plan_.duration_us ? *plan_.duration_us / 1e6 : 1e18);
    return child.finish();
  }

  [[nodiscard]] double seconds() const { return seconds_; }

 private:
  void wait(ChildProcess& child, const WatchedSignals& signals) {
    std::vector<pollfd> waits = {{child.channel(), POLLIN, 0}, {signals.descriptor(), POLLIN, 0}};
    if (!is_enough()) {
      for (const int descriptor : sampler_.descriptors()) waits.push_back({descriptor, POLLIN, 0});
    }
    int patience = kPatienceMs;
    if (const int left = child.time_left(); left >= 0) patience = std::min(patience, left);
    if (plan_.duration_us && !is_enough()) {
      const double left = *plan_.duration_us / 1e3 - seconds_since(begin_) * 1e3;
      patience = std::min(patience, static_cast<int>(std::max(left, 0.0)) + 1);
    }
    poll(waits.data(), waits.size(), patience);
  }

  [[nodiscard]] bool is_enough() const {
    return plan_.duration_us && seconds_since(begin_) * 1e6 >= *plan_.duration_us;
  }

  void fetch(std::uint32_t process) {
    sampler_.drain(process, writer_);
    if (Clock::now() < next_clock_) return;
    next_clock_ = Clock::now() + std::chrono::seconds(1);
    writer_.flush();
    writer_.add_clock(record::read_clocks());
  }

  const RecordPlan& plan_;
  record::Sampler& sampler_;
  RecordingWriter& writer_;
  Clock::time_point begin_;
  Clock::time_point next_clock_;
  double seconds_ = 0;
};

// That the program was stopped or goes on is no news, only its end is.
void hear_of_ends_only() {
  struct sigaction action{};
  action.sa_handler = SIG_DFL;
  action.sa_flags = SA_NOCLDSTOP;
  sigaction(SIGCHLD, &action, nullptr);
}

ExitCode exit_code_of(int wait_status) {
  return exit_code(WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status));
}

}  // namespace

std::string name_of(record::Backend backend) {
  switch (backend) {
    case record::Backend::kClock:
      return "clock";
    case record::Backend::kIntel:
      return "intel";
    case record::Backend::kStep:
      return "step";
    case record::Backend::kSoftwarePt:
      return "software-pt";
  }
  return "";
}

std::vector<std::string> agent_settings(const RecordPlan& plan) {
  std::vector<std::string> settings = {preload_setting(plan.agent), "DEADHEAT_RECORD=" + plan.directory,
                                       fmt::format("DEADHEAT_RECORD_LIMIT={}", plan.log_limit)};
  settings.push_back(filters_setting());
  if (plan.has_held_locks) settings.emplace_back("DEADHEAT_RECORD_LOCKS=all");
  if (record::has_steady_counter()) settings.emplace_back("DEADHEAT_RECORD_CLOCK=tsc");
  return settings;
}

void say_recorded(const RecordPlan& plan, double seconds, std::uint64_t samples) {
  std::error_code error;
  if (!std::filesystem::exists(plan.directory + "/agent", error)) {
    print_warning(
        "the agent did not start (a privileged program, or one under a filter of system calls?): without a log of "
        "synchronisation no "
        "race can be told");
  }
  if (plan.is_quiet) return;
  const double megabytes = static_cast<double>(size_of_directory(plan.directory)) / 1e6;
  print_note(fmt::format("recorded {:.1f} s ({}): {}, {:.1f} MB; next: deadheat analyze {}", seconds,
                         name_of(plan.backend), counted(samples, "sample"), megabytes, plan.directory));
}

ExitCode record_by_samples(const RecordPlan& plan, RecordingWriter& writer) {
  record::SamplerRequest request;
  request.backend = plan.backend;
  request.period = plan.period;
  request.stack_bytes = plan.stack_bytes;
  request.timers = plan.timers;
  request.program = plan.path;
  auto sampler = record::Sampler::open(request);
  if (!sampler.ok()) {
    print_error(fmt::format("cannot record by '{}': {}", name_of(plan.backend), sampler.error().message));
    return ExitCode::kFailure;
  }
  ChildRequest child;
  child.path = plan.path;
  child.arguments = plan.words;
  child.descriptor_variable = "DEADHEAT_RECORD_CHANNEL";
  child.settings = agent_settings(plan);
  hear_of_ends_only();
  const auto signals = WatchedSignals::open();
  if (!signals.ok()) return failed(signals.error(), ExitCode::kFailure);
  writer.add_clock(record::read_clocks());
  const ChildProcess::Started started = ChildProcess::start(child, *signals.value());
  if (started.child == nullptr) {
    print_error(started.error.message);
    return exit_code(static_cast<int>(started.error.failure));
  }
  Recording head;
  head.program = plan.path;
  head.arguments = plan.words;
  head.backend = name_of(plan.backend);
  head.process = static_cast<std::uint64_t>(started.child->process());
  writer.add_head(head);
  if (plan.backend == record::Backend::kIntel) writer.add_trace_timing(record::processor_trace_timing());

  SampleLoop loop(plan, *sampler.value(), writer);
  const ChildEnd end = loop.run(*started.child, *signals.value());
  const record::SamplerCounts& counts = sampler.value()->counts();
  writer.add_clock(record::read_clocks());
  const std::string incomplete =
      sampler.value()->was_replaced() ? "the program became another by exec, which was not recorded" : "";
  if (const Status status = writer.finish(loop.seconds(), counts.lost, incomplete); !status.ok()) {
    print_error(status.error().message);
  }
  if (counts.lost != 0) print_warning(counted(counts.lost, "sample") + " lost");
  if (counts.throttled != 0) print_warning("the system held samples back: too many; try a lower --hz");
  if (counts.lost_trace != 0) print_warning(fmt::format("the processor's trace has {} gaps", counts.lost_trace));
  say_recorded(plan, loop.seconds(), counts.samples);
  if (counts.samples == 0 && WIFEXITED(end.wait_status) && WEXITSTATUS(end.wait_status) == 0) {
    print_warning("nothing was sampled, which says nothing about races: record for longer, or with a higher --hz");
    return ExitCode::kNothingSeen;
  }
  return exit_code_of(end.wait_status);
}

}  // namespace deadheat
