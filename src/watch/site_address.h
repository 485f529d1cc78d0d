// SPDX-License-Identifier: Apache-2.0
// The address of an access, from its site and the registers just before the instruction.
// Needs no library: the agent computes it inside of a signal handler.
#pragma once

#include <cstdint>

#include "watch/site_table.h"

namespace deadheat::watch {

struct Registers {
  std::uint64_t general[16] = {};         // as the processor numbers them
  std::uint64_t instruction_pointer = 0;  // of the instruction itself, not of the next
};

// Wraps around as the processor does.
[[nodiscard]] constexpr std::uint64_t address_of(const Site& site, const Registers& registers) {
  auto address = static_cast<std::uint64_t>(static_cast<std::int64_t>(site.displacement));
  if (site.base == kInstructionPointer) {
    address += registers.instruction_pointer + site.length;
  } else if (site.base != kNoRegister) {
    address += registers.general[site.base & 15];
  }
  if (site.index != kNoRegister) address += registers.general[site.index & 15] * site.scale;
  return address;
}

}  // namespace deadheat::watch
