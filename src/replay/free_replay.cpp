// SPDX-License-Identifier: Apache-2.0
// Forward replay ends where the next instruction is not known: at a branch whose condition was
// loaded from memory, at a call through a table of addresses (every call into a library), at a system
// call. It also ends after a locked instruction or fence: what follows may be ordered with other
// threads by something that no log has.
#include "replay/free_replay.h"

#include "replay/access_list.h"
#include "replay/frame_tracker.h"
#include "replay/instruction.h"
#include "replay/interpreter.h"
#include "replay/undo.h"

namespace deadheat::replay {
namespace {

class FreeReplay {
 public:
  FreeReplay(const CodeSpace& code, const RebuildOptions& options)
      : code_(code), cache_(code), options_(options), list_(result_) {}

  void replay(const RegisterSample& sample, std::uint32_t number) {
    ++result_.counts.samples;
    if (options_.has_backward) backward(sample, number);
    forward(sample, number);
  }
  [[nodiscard]] RebuiltThread take() { return std::move(result_); }

 private:
  void backward(const RegisterSample& sample, std::uint32_t number);
  void forward(const RegisterSample& sample, std::uint32_t number);

  const CodeSpace& code_;
  InstructionCache cache_;
  const RebuildOptions& options_;
  RebuiltThread result_;
  AccessList list_;
};

void FreeReplay::backward(const RegisterSample& sample, std::uint32_t number) {
  const std::uint64_t ip = sample.registers.ip;
  std::vector<const Instruction*> block;
  for (std::uint64_t at = code_.block_begin(ip); at < ip;) {
    const Instruction* instruction = cache_.at(at);
    if (instruction == nullptr) return;
    // What comes before a fence is ordered by it.
    if (instruction->is_fence) {
      block.clear();
    } else {
      block.push_back(instruction);
    }
    at = instruction->next();
  }
  if (block.empty()) return;
  const auto how = options_.is_single_block ? Backward::kPropagationOnly : Backward::kReverseExecution;
  std::vector<Registers> states(block.size() + 1);
  states.back() = Registers::of(sample.registers);
  for (std::size_t index = block.size(); index-- > 0;) (void)undo(*block[index], states[index + 1], states[index], how);
  FrameTracker frames(result_.frames);
  frames.begin(number);
  for (std::size_t index = 0; index < block.size(); ++index) {
    const auto distance = static_cast<std::int64_t>(index) - static_cast<std::int64_t>(block.size());
    list_.add(*block[index], states[index], number, distance, Origin::kBackward, frames.current());
  }
  result_.counts.instructions += block.size();
}

void FreeReplay::forward(const RegisterSample& sample, std::uint32_t number) {
  MachineState state;
  state.memory.is_enabled = options_.has_memory && !options_.is_single_block;
  state.memory.excluded = options_.racy;
  state.start_at(sample);
  FrameTracker frames(result_.frames);
  frames.begin(number);
  std::uint64_t ip = sample.registers.ip;
  for (std::uint32_t distance = 0; distance < options_.forward_limit; ++distance) {
    const Instruction* instruction = cache_.at(ip);
    if (instruction == nullptr) return;
    ++result_.counts.instructions;
    list_.add(*instruction, state.registers, number, distance, distance == 0 ? Origin::kSampled : Origin::kForward,
              frames.current());
    if (instruction->is_fence || instruction->flow == Flow::kSystemCall) return;
    if (options_.is_single_block && instruction->flow != Flow::kNext) return;
    const auto next = execute(*instruction, state);
    if (!next) return;
    frames.step(*instruction);
    ip = *next;
  }
}

}  // namespace

RebuiltThread rebuild_without_path(const CodeSpace& code, const RecordedThread& thread, std::size_t first_sample,
                                   std::size_t last_sample, const RebuildOptions& options) {
  FreeReplay replay(code, options);
  for (std::size_t sample = first_sample; sample < last_sample; ++sample) {
    replay.replay(thread.samples[sample], static_cast<std::uint32_t>(sample));
  }
  return replay.take();
}

}  // namespace deadheat::replay
