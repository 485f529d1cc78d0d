// SPDX-License-Identifier: Apache-2.0
// The address that an instruction is about to access, from the registers of a trap.
#pragma once

#include <ucontext.h>

#include "model/identity.h"
#include "watch/site_table.h"

namespace deadheat::watch {

// `number` as the processor numbers registers.
[[nodiscard]] inline Address register_value(const mcontext_t& registers, std::uint8_t number) {
  constexpr int kPlaces[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                               REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
  return number < 16 ? static_cast<Address>(registers.gregs[kPlaces[number]]) : 0;
}

// `code` is where the instruction is.
[[nodiscard]] inline Address operand_address(const Site& site, Address code, const mcontext_t& registers) {
  const Address base = site.base == kInstructionPointer ? code + site.length : register_value(registers, site.base);
  return base + register_value(registers, site.index) * site.scale +
         static_cast<Address>(static_cast<std::int64_t>(site.displacement));
}

}  // namespace deadheat::watch
