// SPDX-License-Identifier: Apache-2.0
// BlockIndex: where basic blocks begin in a region of code from a file.
//
// The functions that the file names are disassembled from their first byte on, and every target of a
// direct jump anywhere in the region begins a block. Where a function's bytes
// do not decode, or where it jumps to a computed place, no block of it is certain.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "image/elf_image.h"

namespace deadheat::replay {

class BlockIndex {
 public:
  // The bytes of the file from the offset on.
  BlockIndex(const std::string& path, std::span<const std::byte> bytes, std::uint64_t file_offset);

  // Offsets from the region's first byte; the argument where nothing is certain.
  [[nodiscard]] std::uint64_t block_begin(std::uint64_t offset) const;

 private:
  std::span<const std::byte> bytes_;
  std::vector<AddressRange> functions_;  // certain ones, by offset in the region
  std::vector<std::uint64_t> targets_;   // of direct jumps, sorted
};

}  // namespace deadheat::replay
