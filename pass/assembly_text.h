// SPDX-License-Identifier: Apache-2.0
// The uses of memory that the text of an inline assembly statement tells, in AT&T's syntax, which both
// compilers have by default. Not an assembler: it knows what locks of old code bases look like.
#pragma once

#include <string_view>
#include <vector>

namespace deadheat::pass {

// Memory that an instruction reaches through a register that is operand `pointer`: "(%1)".
struct IndirectOperand {
  unsigned pointer = 0;
  int partner = -1;   // another operand of the instruction, if it has one, whose size is that of the access
  unsigned size = 0;  // in bytes, by the end of the instruction's name; 0: not said
  bool reads = true;
  bool writes = true;
};

struct AssemblyText {
  bool has_instructions = false;
  bool is_atomic = false;  // a lock prefix, or xchg with memory
  bool is_fence = false;   // mfence, or a locked operation on the stack
  std::vector<IndirectOperand> indirect;
};

// `sigil` stands before the numbers of operands: '%' for gcc, '$' for LLVM.
[[nodiscard]] AssemblyText read_assembly(std::string_view text, char sigil);

}  // namespace deadheat::pass
