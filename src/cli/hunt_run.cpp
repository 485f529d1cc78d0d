// SPDX-License-Identifier: Apache-2.0
#include "cli/hunt_run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <span>
#include <utility>

#include "cli/launch.h"
#include "cli/messages.h"

namespace deadheat {

namespace {

// From SIGTERM to SIGKILL.
constexpr std::chrono::seconds kPoliteness{2};
// Other threads of a program that is deadlocked may be about to report a race.
constexpr std::chrono::milliseconds kDeadlockGrace{300};
// How often the run file is looked at.
constexpr std::chrono::milliseconds kGlance{100};

// The runtime takes a value in either sort of quotes; HuntDirectory refuses paths with both.
std::string quoted_path(const std::string& path) {
  const char quote = path.find('"') == std::string::npos ? '"' : '\'';
  return quote + path + quote;
}

std::string schedule_options(const HuntRunRequest& request, const HuntRunFile& file) {
  std::string options =
      fmt::format(":schedule={}:schedule_seed={}:schedule_out={}",
                  request.is_repetition ? "again" : word_of(request.strategy), request.seed, quoted_path(file.name()));
  if (!request.schedule_in.empty()) options += ":schedule_in=" + quoted_path(request.schedule_in);
  if (request.depth) options += fmt::format(":schedule_depth={}", *request.depth);
  return options;
}

ChildRequest child_request(const ChildRequest& plan, const HuntRunRequest& request, const HuntRunFile& file) {
  ChildRequest child = plan;
  const std::string name = options_setting("");
  for (std::string& setting : child.settings) {
    if (setting.starts_with(name)) setting += schedule_options(request, file);
  }
  child.has_no_input = true;
  child.has_own_group = true;
  return child;
}

}  // namespace

HuntRun::HuntRun(HuntRunRequest request, Suppressions suppressions, std::shared_ptr<Symbolizer> symbolizer)
    : request_(std::move(request)), report_(std::move(suppressions), std::move(symbolizer)), started_(Clock::now()) {}

Result<std::unique_ptr<HuntRun>> HuntRun::start(const ChildRequest& plan, HuntRunRequest request,
                                                const WatchedSignals& signals, Suppressions suppressions,
                                                std::shared_ptr<Symbolizer> symbolizer) {
  std::unique_ptr<HuntRun> run(new HuntRun(std::move(request), std::move(suppressions), std::move(symbolizer)));
  auto file = HuntRunFile::create(run->request_.schedule_out);
  if (!file.ok()) return file.error();
  run->file_ = std::move(file).value();
  ChildRequest child = child_request(plan, run->request_, *run->file_);
  if (const auto& output = run->request_.output) {
    child.output = ::open(output->c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
    if (child.output < 0) {
      return Error{ErrorCode::kIo, fmt::format("cannot write '{}': {}", *output, system_message(errno))};
    }
  }
  ChildProcess::Started started = ChildProcess::start(child, signals);
  if (child.output >= 0) ::close(child.output);
  if (started.child == nullptr) return Error{ErrorCode::kIo, started.error.message};
  run->child_ = std::move(started.child);
  run->notice_end();
  return run;
}

double HuntRun::seconds() const {
  return std::chrono::duration<double>(ended_.value_or(Clock::now()) - started_).count();
}

int HuntRun::time_left() const {
  using std::chrono::milliseconds;
  if (child_->has_ended()) return child_->time_left();
  const Clock::time_point next = kill_at_.value_or(started_ + request_.time_limit);
  const auto left = std::chrono::ceil<milliseconds>(next - Clock::now());
  return static_cast<int>(std::clamp(left, milliseconds(1), kGlance).count());
}

void HuntRun::receive(const HuntRunNews& news) {
  child_->receive([&](std::span<const std::byte> bytes, int) {
    take(bytes, news);
    return AfterPacket::kGoOn;
  });
}

void HuntRun::take(std::span<const std::byte> bytes, const HuntRunNews& news) {
  const auto packet = parse_packet(bytes);
  if (!packet.ok()) {
    ++damaged_reports_;
    return;
  }
  const std::uint32_t process = packet.value().process;
  const bool is_program = process == static_cast<std::uint32_t>(child_->process());
  if (std::holds_alternative<ModulesPacket>(packet.value().body) && (speaker_ == 0 || is_program)) speaker_ = process;
  const LiveReport::News heard = report_.add(packet.value());
  if (heard.race != nullptr) news.race(*heard.race);
  if (heard.notice) news.notice(*heard.notice);
}

void HuntRun::notice_end() {
  child_->notice_end();
  if (child_->has_ended() && !ended_) ended_ = Clock::now();
}

void HuntRun::end_program(RunEnd cause, int signal) {
  cause_ = cause;
  kill_at_ = Clock::now() + kPoliteness;
  child_->send(signal);
}

void HuntRun::check_time() {
  if (child_->has_ended()) return;
  const Clock::time_point now = Clock::now();
  if (kill_at_) {
    if (now >= *kill_at_) child_->send(SIGKILL);
    return;
  }
  if (now - started_ >= request_.time_limit) return end_program(RunEnd::kTimeLimit, SIGTERM);
  if (!deadlock_at_ && file_->is_deadlocked()) deadlock_at_ = now;
  if (deadlock_at_ && now - *deadlock_at_ >= kDeadlockGrace) end_program(RunEnd::kDeadlock, SIGKILL);
}

void HuntRun::interrupt() {
  if (child_->has_ended()) return;
  end_program(RunEnd::kInterrupted, cause_ == RunEnd::kInterrupted ? SIGKILL : SIGTERM);
}

RunEnd HuntRun::end_of(int wait_status) const {
  const int signal = WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0;
  const bool is_ours = cause_ && (signal == SIGTERM || signal == SIGKILL);
  if (signal != 0 && !is_ours) return RunEnd::kCrashed;
  return cause_.value_or(RunEnd::kExited);
}

void HuntRun::read_run_file(RunRecord& record) {
  if (Status saved = file_->save(); !saved.ok()) damage_ = saved.error();
  const auto header = file_->header();
  if (!header.ok()) {
    damage_ = header.error();
    return;
  }
  record.counters = header.value().counters;
  if (header.value().deadlocked == 0) return;
  // However it ended: the runtime or somebody else may have been faster than we.
  record.end = RunEnd::kDeadlock;
  const ModuleMap none;
  const ModuleMap& modules = speaker_ == 0 ? none : report_.modules_of(speaker_);
  deadlock_ = make_live_deadlock(header.value(), modules, report_.symbolizer());
}

RunRecord HuntRun::finish() {
  const int wait_status = child_->finish().wait_status;
  RunRecord record;
  record.number = request_.number;
  record.strategy = request_.strategy;
  record.seed = request_.seed;
  record.seconds = seconds();
  record.end = end_of(wait_status);
  if (record.end == RunEnd::kCrashed) record.signal = WTERMSIG(wait_status);
  if (record.end == RunEnd::kExited) record.exit_status = WEXITSTATUS(wait_status);
  read_run_file(record);
  for (const LiveRace& race : report_.races()) {
    if (!race.is_suppressed) record.fingerprints.push_back(race.fingerprint);
  }
  record.suppressed = static_cast<std::uint32_t>(report_.suppressed_count());
  return record;
}

}  // namespace deadheat
