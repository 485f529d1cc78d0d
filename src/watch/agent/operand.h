// SPDX-License-Identifier: Apache-2.0
// The address that an instruction is about to access, from the registers of a trap.
#pragma once

#include <ucontext.h>

#include "model/identity.h"
#include "watch/site_address.h"

namespace deadheat::watch {

// One of REG_RAX and so on.
[[nodiscard]] inline Address register_of(const ucontext_t& context, int which) {
  return static_cast<Address>(context.uc_mcontext.gregs[which]);
}

// `code` is where the instruction is: the trap's own pointer may be one byte further.
[[nodiscard]] inline Address operand_address(const Site& site, Address code, const ucontext_t& context) {
  constexpr int kPlaces[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                               REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
  Registers registers;
  for (int number = 0; number < 16; ++number) registers.general[number] = register_of(context, kPlaces[number]);
  registers.instruction_pointer = code;
  return address_of(site, registers);
}

}  // namespace deadheat::watch
