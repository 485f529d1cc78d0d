// SPDX-License-Identifier: Apache-2.0
#include "record/step_recorder.h"

#include <ctime>
#include <map>

namespace deadheat::record {
namespace {

constexpr std::size_t kPieceLength = 1U << 20U;

std::uint64_t raw_time() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

class PathRecorder final : public StepRecorder {
 public:
  PathRecorder(const StepPlan& plan, RecordingWriter& writer) : StepRecorder(plan, writer) {}

  AfterStep on_step(const Step& step) override {
    if (error_) return AfterStep::kKill;
    Thread& thread = threads_[step.thread];
    const bool is_own = is_own_code(step.registers.ip);
    if (step.is_after_gap || thread.piece.code.size() >= kPieceLength) {
      finish_piece(step.thread, thread);
      thread.piece.is_after_gap = step.is_after_gap;
    }
    if (thread.position % plan_.period == 0 || step.is_after_gap) {
      add_sample(step, raw_time(), thread.position);
    } else if (is_own && !thread.is_own) {
      // Back from a library, where it may have synchronised.
      const std::uint64_t now = raw_time();
      writer_.add_mark(static_cast<std::uint32_t>(step.thread), {thread.position, now, now});
    }
    thread.is_own = is_own;
    thread.piece.code.push_back(step.registers.ip);
    ++thread.position;
    return AfterStep::kGoOn;
  }

  void on_thread_end(pid_t thread) override {
    const auto found = threads_.find(thread);
    if (found != threads_.end()) finish_piece(thread, found->second);
  }

  void finish() override {
    for (auto& [number, thread] : threads_) finish_piece(number, thread);
  }

 private:
  struct Thread {
    PathPiece piece;
    std::uint64_t position = 0;
    bool is_own = false;
  };

  void finish_piece(pid_t number, Thread& thread) {
    if (!thread.piece.code.empty()) writer_.add_path(static_cast<std::uint32_t>(number), thread.piece);
    thread.piece = {};
    thread.piece.first_position = thread.position;
  }

  std::map<pid_t, Thread> threads_;
};

}  // namespace

std::vector<std::uint64_t> StepRecorder::on_ready(pid_t process) {
  Recording head = plan_.head;
  head.process = static_cast<std::uint64_t>(process);
  writer_.add_head(head);
  mappings_ = code_mappings(process);
  for (const CodeMapping& mapping : mappings_) writer_.add_mapping(mapping);
  if (mappings_.empty()) return {};
  // The program is the file that the entry point is in: the lowest mapping.
  own_begin_ = mappings_.front().begin;
  own_end_ = mappings_.front().end;
  if (plan_.functions.empty()) return {};
  auto found = function_addresses(mappings_.front(), plan_.functions);
  if (found) return std::move(found).value();
  error_ = found.error();
  return {};
}

void StepRecorder::add_sample(const Step& step, std::uint64_t time, std::optional<std::uint64_t> position) {
  RegisterSample sample;
  sample.time = time;
  sample.registers = step.registers;
  sample.position = position;
  sample.stack.resize(plan_.stack_bytes);
  sample.stack.resize(read_memory(step.thread, step.registers[Register::kRsp], sample.stack));
  writer_.add_sample(static_cast<std::uint32_t>(step.thread), sample);
  ++samples_;
}

std::unique_ptr<StepRecorder> make_path_recorder(const StepPlan& plan, RecordingWriter& writer) {
  return std::make_unique<PathRecorder>(plan, writer);
}

}  // namespace deadheat::record
