// SPDX-License-Identifier: Apache-2.0
#include "replay/code_space.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>

#include "image/elf_image.h"
#include "replay/block_index.h"

namespace deadheat::replay {

struct CodeSpace::State {
  struct Region {
    std::uint64_t end = 0;
    std::span<const std::byte> bytes;
    std::string path;               // empty: only bytes
    std::uint64_t file_offset = 0;  // of the first byte
  };

  // By first address, without overlaps.
  std::map<std::uint64_t, Region> regions;
  std::vector<ElfImage> images;  // that the bytes belong to
  mutable std::mutex blocks_guard;
  mutable std::map<std::uint64_t, std::unique_ptr<BlockIndex>> blocks;  // by first address of their region
  std::vector<std::vector<std::byte>> copies;
  std::vector<std::string> warnings;

  void place(std::uint64_t address, std::span<const std::byte> bytes, const std::string& path, std::uint64_t offset) {
    if (!bytes.empty()) regions[address] = {address + bytes.size(), bytes, path, offset};
  }
};

namespace {

std::optional<std::string> problem_of(const CodeMapping& mapping, const Result<ElfImage>& image) {
  if (!image) return image.error().message;
  const auto id = image.value().build_id();
  if (!mapping.build_id.empty() && !std::ranges::equal(id, mapping.build_id)) {
    return fmt::format("'{}' is not the file that was recorded: it has another build id", mapping.path);
  }
  return std::nullopt;
}

bool overlap(const CodeMapping& one, const CodeMapping& other) {
  return one.begin < other.end && other.begin < one.end;
}

bool are_same_code(const CodeMapping& one, const CodeMapping& other) {
  return one.path == other.path && one.begin - one.file_offset == other.begin - other.file_offset &&
         one.build_id == other.build_id;
}

}  // namespace

CodeSpace::CodeSpace() : state_(std::make_unique<State>()) {}
CodeSpace::CodeSpace(CodeSpace&&) noexcept = default;
CodeSpace& CodeSpace::operator=(CodeSpace&&) noexcept = default;
CodeSpace::~CodeSpace() = default;

CodeSpace CodeSpace::load(const std::vector<CodeMapping>& mappings) {
  CodeSpace space;
  State& state = *space.state_;
  std::map<std::string, Result<ElfImage>> opened;
  for (const CodeMapping& mapping : mappings) {
    if (mapping.path.empty() || mapping.path[0] != '/' || mapping.end <= mapping.begin) continue;
    // Which of two files an address meant depends on the moment; neither is then used.
    const bool is_ambiguous = std::ranges::any_of(mappings, [&](const CodeMapping& other) {
      return &other != &mapping && overlap(mapping, other) && !are_same_code(mapping, other);
    });
    if (is_ambiguous) {
      state.warnings.push_back(fmt::format("'{}' shared the addresses from {:#x} with other code: not replayed",
                                           mapping.path, mapping.begin));
      continue;
    }
    const bool is_new = !opened.contains(mapping.path);
    if (is_new) opened.emplace(mapping.path, ElfImage::open(mapping.path));
    const Result<ElfImage>& image = opened.at(mapping.path);
    if (const auto problem = problem_of(mapping, image)) {
      if (is_new) state.warnings.push_back(*problem);
      continue;
    }
    const std::uint64_t file_size = image.value().file_size();
    if (mapping.file_offset >= file_size) continue;
    const std::uint64_t size = std::min(mapping.end - mapping.begin, file_size - mapping.file_offset);
    if (const auto bytes = image.value().slice(mapping.file_offset, size)) {
      state.place(mapping.begin, *bytes, mapping.path, mapping.file_offset);
    }
  }
  for (auto& [path, image] : opened) {
    if (image) state.images.push_back(std::move(image).value());
  }
  return space;
}

void CodeSpace::add(std::uint64_t address, std::span<const std::byte> bytes) {
  state_->copies.emplace_back(bytes.begin(), bytes.end());
  state_->place(address, state_->copies.back(), {}, 0);
}

std::span<const std::byte> CodeSpace::bytes_at(std::uint64_t address) const {
  auto found = state_->regions.upper_bound(address);
  if (found == state_->regions.begin()) return {};
  --found;
  if (address >= found->second.end) return {};
  return found->second.bytes.subspan(address - found->first);
}

std::uint64_t CodeSpace::block_begin(std::uint64_t address) const {
  auto found = state_->regions.upper_bound(address);
  if (found == state_->regions.begin()) return address;
  --found;
  const State::Region& region = found->second;
  if (address >= region.end || region.path.empty()) return address;
  const BlockIndex* index = nullptr;
  {
    const std::lock_guard lock(state_->blocks_guard);
    auto& slot = state_->blocks[found->first];
    if (slot == nullptr) slot = std::make_unique<BlockIndex>(region.path, region.bytes, region.file_offset);
    index = slot.get();
  }
  return found->first + index->block_begin(address - found->first);
}

const std::vector<std::string>& CodeSpace::warnings() const { return state_->warnings; }

}  // namespace deadheat::replay
