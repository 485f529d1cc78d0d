// SPDX-License-Identifier: Apache-2.0
// Random C programs whose races are known by support/oracle.h.
//
// A program has objects of all shapes (scalars of each size, arrays, structs, unions,
// bit-fields, packed and heap memory), some of them guarded by a lock in most of their
// uses, and two to four threads whose steps run in a forced order. A step is one
// operation of synchronisation, or a function of a few statements, each on a line of its own.
#pragma once

#include <cstdint>
#include <string>

namespace deadheat::random_programs {

struct ProgramText {
  std::string source;
  bool uses_avx2 = false;
};

[[nodiscard]] ProgramText random_program(std::uint32_t seed, bool machine_has_avx2);

}  // namespace deadheat::random_programs
