// SPDX-License-Identifier: Apache-2.0
// AccessList: turns instructions with what is known of their registers into rebuilt accesses.
#pragma once

#include <cstdint>

#include "replay/instruction.h"
#include "replay/machine_state.h"
#include "replay/rebuild.h"

namespace deadheat::replay {

class AccessList {
 public:
  explicit AccessList(RebuiltThread& thread) : thread_(thread) {}

  // Those accesses of the instruction whose address is known; reads first.
  void add(const Instruction& instruction, const Registers& before, std::uint32_t sample, std::int64_t distance,
           Origin origin, std::uint32_t frame, std::uint64_t position = kNoPosition);

 private:
  RebuiltThread& thread_;
};

}  // namespace deadheat::replay
