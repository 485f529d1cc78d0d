// SPDX-License-Identifier: Apache-2.0
// Recording by single steps: every instruction's address, and the registers at every n-th.
#include <fmt/format.h>

#include <chrono>
#include <ctime>
#include <map>

#include "cli/launch.h"
#include "cli/messages.h"
#include "cli/record_session.h"
#include "record/stepper.h"
#include "report/symbolizer.h"

namespace deadheat {

namespace {

constexpr std::size_t kPieceLength = 1U << 20U;

std::uint64_t raw_time() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

class StepRecorder final : public record::StepListener {
 public:
  StepRecorder(const RecordPlan& plan, RecordingWriter& writer) : plan_(plan), writer_(writer) {}

  std::vector<std::uint64_t> on_ready(pid_t process) override {
    Recording head;
    head.program = plan_.path;
    head.arguments = plan_.words;
    head.backend = name_of(plan_.backend);
    head.process = static_cast<std::uint64_t>(process);
    writer_.add_head(head);
    process_ = process;
    for (const CodeMapping& mapping : record::code_mappings(process)) writer_.add_mapping(mapping);
    return {};
  }

  record::AfterStep on_step(const record::Step& step) override {
    Thread& thread = threads_[step.thread];
    if (step.is_after_gap || thread.piece.code.size() >= kPieceLength) {
      finish_piece(step.thread, thread);
      thread.piece.is_after_gap = step.is_after_gap;
    }
    if (thread.position % plan_.period == 0 || step.is_after_gap) {
      RegisterSample sample;
      sample.time = raw_time();
      sample.registers = step.registers;
      sample.position = thread.position;
      writer_.add_sample(static_cast<std::uint32_t>(step.thread), sample);
      ++samples_;
    }
    thread.piece.code.push_back(step.registers.ip);
    ++thread.position;
    return record::AfterStep::kGoOn;
  }

  void finish() {
    for (auto& [number, thread] : threads_) finish_piece(number, thread);
  }
  [[nodiscard]] std::uint64_t samples() const { return samples_; }

 private:
  struct Thread {
    PathPiece piece;
    std::uint64_t position = 0;
  };

  void finish_piece(pid_t number, Thread& thread) {
    if (!thread.piece.code.empty()) writer_.add_path(static_cast<std::uint32_t>(number), thread.piece);
    thread.piece = {};
    thread.piece.first_position = thread.position;
  }

  const RecordPlan& plan_;
  RecordingWriter& writer_;
  pid_t process_ = 0;
  std::map<pid_t, Thread> threads_;
  std::uint64_t samples_ = 0;
};

}  // namespace

ExitCode record_by_steps(const RecordPlan& plan, RecordingWriter& writer) {
  record::StepCommand command;
  command.words = plan.words;
  command.words.front() = plan.path;
  command.environment = agent_settings(plan);
  command.is_layout_random = true;
  const auto begin = std::chrono::steady_clock::now();
  writer.add_clock(record::read_clocks());
  StepRecorder recorder(plan, writer);
  const auto summary = record::step_program(command, recorder);
  if (!summary.ok()) return failed(summary.error(), ExitCode::kFailure);
  recorder.finish();
  writer.add_clock(record::read_clocks());
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (const Status status = writer.finish(seconds, 0, ""); !status.ok()) print_error(status.error().message);
  say_recorded(plan, seconds, recorder.samples());
  return exit_code(summary.value().exit_code);
}

}  // namespace deadheat
