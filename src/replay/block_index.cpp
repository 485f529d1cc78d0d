// SPDX-License-Identifier: Apache-2.0
#include "replay/block_index.h"

#include <algorithm>

#include "replay/instruction.h"

namespace deadheat::replay {

BlockIndex::BlockIndex(const std::string& path, std::span<const std::byte> bytes, std::uint64_t file_offset)
    : bytes_(bytes) {
  const auto image = ElfImage::open(path);
  if (!image) return;
  // Where the file says that its first byte of this region lies.
  const auto base = image.value().address_of(file_offset);
  if (!base) return;
  for (const AddressRange& function : image.value().functions()) {
    if (function.begin < *base || function.end - *base > bytes.size()) continue;
    const AddressRange range{function.begin - *base, function.end - *base};
    bool is_certain = true;
    std::uint64_t at = range.begin;
    while (at < range.end) {
      const auto instruction = decode(bytes.subspan(at), at);
      if (!instruction) {
        is_certain = false;
        break;
      }
      const auto target = instruction->target();
      const bool is_jump = instruction->flow == Flow::kJump || instruction->flow == Flow::kConditional;
      if (is_jump && target) targets_.push_back(*target);
      if (is_jump && !target) is_certain = false;
      at = instruction->next();
    }
    if (is_certain && at == range.end) functions_.push_back(range);
  }
  std::ranges::sort(targets_);
}

std::uint64_t BlockIndex::block_begin(std::uint64_t offset) const {
  auto function = std::ranges::upper_bound(functions_, offset, {}, &AddressRange::begin);
  if (function == functions_.begin()) return offset;
  --function;
  if (offset >= function->end) return offset;
  std::uint64_t begin = function->begin;
  std::uint64_t at = function->begin;
  while (at < offset) {
    const auto instruction = decode(bytes_.subspan(at), at);
    if (!instruction) return offset;
    at = instruction->next();
    const bool is_end = instruction->flow != Flow::kNext;
    if (is_end || std::ranges::binary_search(targets_, at)) begin = at;
  }
  return at == offset ? begin : offset;
}

}  // namespace deadheat::replay
