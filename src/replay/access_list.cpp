// SPDX-License-Identifier: Apache-2.0
#include "replay/access_list.h"

#include "replay/interpreter.h"

namespace deadheat::replay {

void AccessList::add(const Instruction& instruction, const Registers& before, std::uint32_t sample,
                     std::int64_t distance, Origin origin, std::uint32_t frame, std::uint64_t position) {
  for (const bool is_write : {false, true}) {
    for (unsigned index = 0; index < instruction.access_count; ++index) {
      const MemoryAccess& access = instruction.accesses[index];
      if (is_write ? !access.writes : !access.reads) continue;
      const auto place = locate(instruction, access, before);
      if (!place || place->size == 0) continue;
      RebuiltAccess made;
      made.code = instruction.address;
      made.address = place->address;
      made.size = static_cast<std::uint32_t>(place->size);
      made.is_write = is_write;
      made.is_atomic = instruction.is_atomic;
      made.is_stack = place->is_stack;
      made.origin = place->is_pc_relative && origin != Origin::kSampled ? Origin::kPcRelative : origin;
      made.sample = sample;
      made.distance = distance;
      made.position = position;
      made.frame = frame;
      thread_.accesses.push_back(made);
      RebuildCounts& counts = thread_.counts;
      if (place->is_pc_relative) {
        ++counts.rebuilt_pc_relative;
      } else if (place->is_from_memory) {
        ++counts.rebuilt_memory;
      } else {
        ++counts.rebuilt_register;
      }
    }
  }
}

}  // namespace deadheat::replay
