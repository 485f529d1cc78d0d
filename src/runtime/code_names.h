// SPDX-License-Identifier: Apache-2.0
// Names of code and data that are the same in every run of a program: the file that is
// mapped there, and the distance from its beginning. For what one run leaves to the next
// (scheduling.h); reports have symbols.
#pragma once

#include <cstdint>

#include "model/identity.h"

namespace deadheat::runtime {

// 0 if no file is mapped there; otherwise never 0. Data without a file that follows a
// module (.bss) belongs to it. The first use of a module reads /proc/self/maps, that of an
// address looks it up; after that it is one lookup in a table. A module that was unloaded
// and replaced by another keeps its names.
[[nodiscard]] std::uint64_t name_of_address(Address address);

// Combines names, in order.
[[nodiscard]] constexpr std::uint64_t name_of_pair(std::uint64_t first, std::uint64_t second) {
  std::uint64_t name = (first ^ (second + 0x9e3779b97f4a7c15ULL)) * 0xd6e8feb86659fd93ULL;
  name ^= name >> 32;
  return name | 1;
}

// In the child of a fork.
void reset_code_names();

}  // namespace deadheat::runtime
