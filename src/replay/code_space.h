// SPDX-License-Identifier: Apache-2.0
// CodeSpace: the code of a recorded process, by address. Decodes each instruction once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "trace/recording.h"

namespace deadheat::replay {

class CodeSpace {
 public:
  CodeSpace();
  CodeSpace(CodeSpace&&) noexcept;
  CodeSpace& operator=(CodeSpace&&) noexcept;
  ~CodeSpace();

  // The files are read from where they were, and must have the build ids of the recording.
  // A mapping whose file is missing or has changed is left out and named in warnings().
  [[nodiscard]] static CodeSpace load(const std::vector<CodeMapping>& mappings);
  // Bytes in memory, for tests and for page dumps.
  void add(std::uint64_t address, std::span<const std::byte> bytes);

  // From the address to the end of what is contiguous there; empty: no code is known there.
  [[nodiscard]] std::span<const std::byte> bytes_at(std::uint64_t address) const;
  [[nodiscard]] const std::vector<std::string>& warnings() const;

  // The first instruction of the basic block around an instruction: nothing jumps between the two, and nothing in
  // between jumps. The address itself where that is not certain: outside of functions, and in
  // functions with computed jumps, which may go anywhere in them. For several threads at a time.
  [[nodiscard]] std::uint64_t block_begin(std::uint64_t address) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace deadheat::replay
