// SPDX-License-Identifier: Apache-2.0
// The recording that the backend `intel` would have made of a stepped program.
//
// Each thread runs on a processor for so many instructions, then on the next one; a processor's trace is that of the
// threads which ran on it, one after another. Threads step at the same time, so a processor's trace is written turn by
// turn as they end, not in the order of single steps.
#include <x86intrin.h>

#include <ctime>
#include <map>

#include "record/step_recorder.h"
#include "replay/software_pt.h"

namespace deadheat::record {
namespace {

constexpr std::uint32_t kProcessors = 2;
constexpr std::size_t kTurn = 4'000;              // instructions on a processor
constexpr std::uint64_t kSynchronisation = 1000;  // instructions between points at which decoding can begin

ClockPair now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &time);
  return {__rdtsc(),
          static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec)};
}

class SoftwarePtRecorder final : public StepRecorder {
 public:
  SoftwarePtRecorder(const StepPlan& plan, RecordingWriter& writer) : StepRecorder(plan, writer) {}

  std::vector<std::uint64_t> on_ready(pid_t process) override {
    auto functions = StepRecorder::on_ready(process);
    code_ = replay::CodeSpace::load(mappings_);
    return functions;
  }

  AfterStep on_step(const Step& step) override {
    if (error_) return AfterStep::kKill;
    Thread& thread = threads_[step.thread];
    const std::uint64_t ip = step.registers.ip;
    if (!thread.turn.empty()) {
      if (step.is_after_gap) {
        thread.turn.pop_back();  // where it went is not known
        end_turn(step.thread, thread, 0);
      } else if (thread.turn.size() >= kTurn) {
        end_turn(step.thread, thread, ip);
      }
    }
    const ClockPair moment = now();  // after the last turn, if one has ended here
    const bool is_sampled = thread.count++ % plan_.period == 0;
    if (is_sampled) add_sample(step, moment.time, std::nullopt);
    thread.turn.push_back({ip, moment.ticks, is_sampled});
    return AfterStep::kGoOn;
  }

  void on_thread_end(pid_t number) override {
    const auto found = threads_.find(number);
    if (found == threads_.end()) return;
    if (!found->second.turn.empty()) found->second.turn.pop_back();
    end_turn(number, found->second, 0);
    threads_.erase(found);
  }

  void finish() override {
    while (!threads_.empty()) on_thread_end(threads_.begin()->first);
  }

 private:
  struct Executed {
    std::uint64_t ip = 0;
    std::uint64_t ticks = 0;  // before it
    bool is_sampled = false;
  };
  struct Thread {
    std::vector<Executed> turn;
    std::uint64_t count = 0;
    std::uint32_t turns = 0;
  };
  struct Processor {
    std::unique_ptr<replay::SoftwarePt> encoder;
    std::uint64_t offset = 0;
    std::uint64_t count = 0;
  };

  // `next`: what comes after; 0: nothing that is known.
  void end_turn(pid_t number, Thread& thread, std::uint64_t next) {
    if (thread.turn.empty()) return;
    const std::uint32_t place = (static_cast<std::uint32_t>(number) + thread.turns++) % kProcessors;
    Processor& processor = processors_[place];
    if (!processor.encoder) processor.encoder = std::make_unique<replay::SoftwarePt>(cache_);
    for (std::size_t index = 0; index < thread.turn.size(); ++index) {
      const bool is_last = index + 1 == thread.turn.size();
      const Executed after{is_last ? next : thread.turn[index + 1].ip,
                           is_last ? now().ticks : thread.turn[index + 1].ticks, false};
      encode(processor, thread.turn[index], after);
    }
    replay::SoftwarePt& encoder = *processor.encoder;
    if (encoder.is_on()) {
      encoder.stamp(now().ticks);
      encoder.interrupt(next != 0 ? next : thread.turn.back().ip);
    }
    const auto bytes = encoder.take();
    writer_.add_trace(place, processor.offset, bytes);
    writer_.add_trace_range(
        {place, processor.offset, bytes.size(), static_cast<std::uint32_t>(number), now().time, false});
    processor.offset += bytes.size();
    thread.turn.clear();
  }

  void encode(Processor& processor, const Executed& step, const Executed& after) {
    replay::SoftwarePt& encoder = *processor.encoder;
    if (!is_own_code(step.ip)) return;
    if (processor.count++ % kSynchronisation == 0) encoder.synchronise(step.ip);
    if (encoder.is_on() && step.is_sampled) {
      encoder.stamp(step.ticks);
      encoder.interrupt(step.ip);
    }
    const bool begins = !encoder.is_on();
    if (begins) {
      encoder.stamp(step.ticks);
      encoder.resume(step.ip);
    }
    const replay::Instruction* const instruction = cache_.at(step.ip);
    if (instruction == nullptr || after.ip == 0) return;
    const bool is_branch = instruction->flow != replay::Flow::kNext;
    if (is_branch && !is_own_code(after.ip)) {
      encoder.stamp(after.ticks);
      encoder.leave(after.ip);
    } else if (!is_branch && after.ip != instruction->next()) {  // a signal
      encoder.interrupt(instruction->next());
    } else {
      encoder.execute(step.ip, after.ip);
      if (begins && encoder.is_on()) encoder.stamp(after.ticks);
    }
  }

  replay::CodeSpace code_;
  replay::InstructionCache cache_{code_};
  std::map<std::uint32_t, Processor> processors_;
  std::map<pid_t, Thread> threads_;
};

}  // namespace

std::unique_ptr<StepRecorder> make_software_pt_recorder(const StepPlan& plan, RecordingWriter& writer) {
  return std::make_unique<SoftwarePtRecorder>(plan, writer);
}

}  // namespace deadheat::record
