// SPDX-License-Identifier: Apache-2.0
// One instruction: how long it is, and whether it is a site (site_table.h).
//
// A site's address must follow from general registers by base + index * scale +
// displacement, its size must be known before it runs, and the instruction after it must be
// the next one in memory: a data breakpoint reports where the processor goes on, from which
// the agent finds the site again. So these are no sites: accesses through fs and gs, calls,
// jumps, returns, push and pop, string instructions, bit tests whose bit number is in a
// register (it may lie anywhere), masked and gathered vector accesses, 32-bit addresses,
// state that is saved as a whole (xsave), and what only looks like an access (lea, nop,
// prefetch, cache control).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "watch/site_table.h"

namespace deadheat::watch {

struct DecodedInstruction {
  std::uint8_t length = 0;
  std::optional<Site> site;  // its offset is 0
};

// The instruction that `code` begins with; none if the bytes are no instruction, or end
// inside of it.
[[nodiscard]] std::optional<DecodedInstruction> decode_instruction(std::span<const std::byte> code);

}  // namespace deadheat::watch
