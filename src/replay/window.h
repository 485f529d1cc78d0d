// SPDX-License-Identifier: Apache-2.0
// Window: a stretch of a thread's path with a sample at its beginning, at its end, at both or at none, and
// all that can be found out of its registers.
//
// Knowledge grows in rounds. Forward: the interpreter runs from the first instruction to the last; before
// each instruction, what it knows and what was known there already are put together. Backward: from the last
// instruction to the first, what is known after each is taken back over it (undo.h). Rounds follow each other until one
// learns nothing. Both directions only ever add true bytes, so they cannot disagree; if they do, emulated memory was
// somebody else's, and the window is replayed without memory.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "replay/instruction.h"
#include "replay/rebuild.h"
#include "replay/undo.h"

namespace deadheat::replay {

struct Window {
  std::span<const std::uint64_t> code;
  const RegisterSample* start = nullptr;  // just before the first instruction
  const RegisterSample* end = nullptr;    // just after the last
};

class WindowReplay {
 public:
  WindowReplay(InstructionCache& cache, const Window& window, const RebuildOptions& options);

  void run();

  [[nodiscard]] std::size_t size() const { return instructions_.size(); }
  // Null where no code is known.
  [[nodiscard]] const Instruction* instruction(std::size_t index) const { return instructions_[index]; }
  [[nodiscard]] const Registers& before(std::size_t index) const { return states_[index]; }
  // Was the access found by going forward alone?
  [[nodiscard]] bool is_forward(std::size_t index) const { return is_forward_[index]; }
  [[nodiscard]] bool was_regenerated() const { return was_regenerated_; }
  [[nodiscard]] bool has_conflict() const { return has_conflict_; }

 private:
  enum class Memories : bool { kOff, kOn };
  void reset();
  void replay(Memories memories);
  void forward(Memories memories);
  unsigned backward();
  [[nodiscard]] bool continues(std::size_t index) const;

  const Window& window_;
  const RebuildOptions& options_;
  std::vector<const Instruction*> instructions_;
  std::vector<Registers> states_;  // one more than instructions
  std::vector<bool> is_forward_;
  bool was_regenerated_ = false;
  bool has_conflict_ = false;
};

}  // namespace deadheat::replay
