// SPDX-License-Identifier: Apache-2.0
#include "replay/window.h"

#include "replay/interpreter.h"

namespace deadheat::replay {
namespace {

// The second round finds nearly all that the others find; the limit is for what never ends well.
constexpr int kMostRounds = 8;

bool finds_all(const Instruction& instruction, const Registers& before) {
  for (unsigned index = 0; index < instruction.access_count; ++index) {
    if (!locate(instruction, instruction.accesses[index], before)) return false;
  }
  return true;
}

}  // namespace

WindowReplay::WindowReplay(InstructionCache& cache, const Window& window, const RebuildOptions& options)
    : window_(window), options_(options), is_forward_(window.code.size()) {
  instructions_.reserve(window.code.size());
  for (const std::uint64_t address : window.code) instructions_.push_back(cache.at(address));
}

void WindowReplay::reset() {
  states_.assign(instructions_.size() + 1, {});
  if (window_.start != nullptr) states_.front() = Registers::of(window_.start->registers);
  if (window_.end != nullptr && options_.has_backward) states_.back() = Registers::of(window_.end->registers);
  has_conflict_ = false;
}

// Does the next instruction of the path follow from this one? A signal handler does not.
bool WindowReplay::continues(std::size_t index) const {
  const Instruction* instruction = instructions_[index];
  if (instruction == nullptr) return false;
  if (index + 1 == instructions_.size() && window_.end == nullptr) return true;
  const std::uint64_t next = index + 1 < instructions_.size() ? window_.code[index + 1] : window_.end->registers.ip;
  switch (instruction->flow) {
    case Flow::kNext:
    case Flow::kSystemCall:
      return next == instruction->next();
    case Flow::kConditional:
      return next == instruction->next() || next == instruction->target();
    case Flow::kJump:
    case Flow::kCall:
      return !instruction->target() || next == *instruction->target();
    case Flow::kReturn:
      return true;
    case Flow::kWild:
      return false;
  }
  return false;
}

void WindowReplay::forward(Memories memories) {
  MachineState state;
  state.memory.is_enabled = memories == Memories::kOn;
  state.memory.excluded = options_.racy;
  if (window_.start != nullptr) state.start_at(*window_.start);
  for (std::size_t index = 0; index < instructions_.size(); ++index) {
    // What was known here already, and what has been computed.
    has_conflict_ |= merge(state.registers, states_[index]).is_conflict;
    states_[index] = state.registers;
    if (!continues(index)) {
      state.registers.forget();
      state.memory.forget_all();
      continue;
    }
    const auto next = execute(*instructions_[index], state);
    if (next && index + 1 < instructions_.size() && *next != window_.code[index + 1]) has_conflict_ = true;
  }
  has_conflict_ |= merge(states_.back(), state.registers).is_conflict;
}

unsigned WindowReplay::backward() {
  unsigned learned = 0;
  for (std::size_t index = instructions_.size(); index-- > 0;) {
    if (!continues(index)) continue;
    const Merged merged = undo(*instructions_[index], states_[index + 1], states_[index], Backward::kReverseExecution);
    learned += merged.learned;
    has_conflict_ |= merged.is_conflict;
  }
  return learned;
}

void WindowReplay::replay(Memories memories) {
  reset();
  forward(memories);
  for (std::size_t index = 0; index < instructions_.size(); ++index) {
    is_forward_[index] = instructions_[index] != nullptr && finds_all(*instructions_[index], states_[index]);
  }
  if (!options_.has_backward) return;
  for (int round = 0; round < kMostRounds && !has_conflict_; ++round) {
    if (backward() == 0) break;
    forward(memories);
  }
}

void WindowReplay::run() {
  replay(options_.has_memory ? Memories::kOn : Memories::kOff);
  if (!has_conflict_ || !options_.has_memory) return;
  was_regenerated_ = true;
  replay(Memories::kOff);
}

}  // namespace deadheat::replay
