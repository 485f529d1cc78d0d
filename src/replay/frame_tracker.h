// SPDX-License-Identifier: Apache-2.0
// FrameTracker: in which function's frame each instruction of a replay runs, by the calls and returns it passes.
#pragma once

#include <cstdint>
#include <vector>

#include "replay/instruction.h"
#include "replay/rebuild.h"

namespace deadheat::replay {

class FrameTracker {
 public:
  explicit FrameTracker(std::vector<CallFrame>& frames) : frames_(frames) {}

  // In the frame of a sample; kNoSample: in one that nothing is known of.
  void begin(std::uint32_t sample) { current_ = add({kNoFrame, 0, sample, 0}); }
  [[nodiscard]] std::uint32_t current() const { return current_; }

  // The instruction has been executed.
  void step(const Instruction& instruction) {
    if (instruction.flow == Flow::kCall) {
      current_ = add({current_, instruction.next(), kNoSample, 0});
    } else if (instruction.flow == Flow::kReturn) {
      leave();
    } else if (instruction.flow == Flow::kWild) {
      begin(kNoSample);
    }
  }
  // The path was through code that is not known, and is at this address now. It may have come back from a call.
  void come_back(std::uint64_t at) {
    if (frames_[current_].returns_to == at) {
      leave();
    } else {
      begin(kNoSample);
    }
  }

 private:
  std::uint32_t add(const CallFrame& frame) {
    frames_.push_back(frame);
    return static_cast<std::uint32_t>(frames_.size() - 1);
  }
  void leave() {
    const CallFrame frame = frames_[current_];
    current_ = frame.parent != kNoFrame ? frame.parent : add({kNoFrame, 0, frame.sample, frame.returned + 1});
  }

  std::vector<CallFrame>& frames_;
  std::uint32_t current_ = kNoFrame;
};

}  // namespace deadheat::replay
