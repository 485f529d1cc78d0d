// SPDX-License-Identifier: Apache-2.0
#include "watch/attach/target_modules.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <set>

#include "base/own_mappings.h"
#include "watch/attach/process_view.h"

namespace deadheat::watch {
namespace {

template <class T>
T entry_of(std::span<const std::byte> bytes, std::size_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof value, sizeof value);
  return value;
}

template <class T>
std::size_t entries_in(const std::optional<PlacedBytes>& section) {
  return section ? section->bytes.size() / sizeof(T) : 0;
}

std::string_view text_of(const std::optional<PlacedBytes>& strings, std::uint64_t offset) {
  if (!strings || offset >= strings->bytes.size()) return {};
  const auto* const begin = reinterpret_cast<const char*>(strings->bytes.data()) + offset;
  return {begin, ::strnlen(begin, strings->bytes.size() - offset)};
}

std::uint32_t instruction_pair(std::span<const std::byte> code, std::size_t at) {
  return std::to_integer<std::uint32_t>(code[at]) << 8 | std::to_integer<std::uint32_t>(code[at + 1]);
}

// Addresses among the wanted that anything but a call or a jump refers to.
std::set<std::uint64_t> otherwise_used(const ElfImage& image, const std::set<std::uint64_t>& wanted) {
  constexpr std::uint32_t kCall = 0xff15;
  constexpr std::uint32_t kJump = 0xff25;
  std::set<std::uint64_t> used;
  if (wanted.empty()) return used;
  const std::uint64_t lowest = *wanted.begin();
  const std::uint64_t span = *wanted.rbegin() - lowest;
  for (const PlacedBytes& code : image.code()) {
    for (std::size_t at = 2; at + sizeof(std::int32_t) <= code.bytes.size(); ++at) {
      std::int32_t distance = 0;
      std::memcpy(&distance, code.bytes.data() + at, sizeof distance);
      const std::uint64_t target =
          code.address + at + sizeof distance + static_cast<std::uint64_t>(std::int64_t{distance});
      if (target - lowest > span || !wanted.contains(target)) continue;
      const std::uint32_t pair = instruction_pair(code.bytes, at - 2);
      if (pair != kCall && pair != kJump) used.insert(target);
    }
  }
  return used;
}

}  // namespace

Result<std::vector<TargetMapping>> mappings_of(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/maps", living_thread_of(process)));
  std::vector<TargetMapping> all;
  for (std::string line; std::getline(file, line);) {
    Mapping mapping;
    if (!parse_mapping(line.c_str(), mapping)) continue;
    all.push_back({mapping.begin, mapping.end, mapping.is_writable, mapping.is_executable,
                   path_in_process(process, mapping.path)});
  }
  if (all.empty()) return Error{ErrorCode::kIo, fmt::format("cannot read what process {} has mapped", process)};
  return all;
}

const TargetMapping* mapping_at(const std::vector<TargetMapping>& mappings, std::uint64_t address) {
  const auto after =
      std::upper_bound(mappings.begin(), mappings.end(), address,
                       [](std::uint64_t wanted, const TargetMapping& mapping) { return wanted < mapping.end; });
  return after != mappings.end() && after->begin <= address ? &*after : nullptr;
}

std::vector<TargetModule> modules_of(pid_t process, const std::vector<TargetMapping>& mappings) {
  std::vector<TargetModule> modules;
  std::set<std::string> seen;
  for (const TargetMapping& mapping : mappings) {
    if (!mapping.path.starts_with('/') || !mapping.is_executable || !seen.insert(mapping.path).second) continue;
    auto image = ElfImage::open(file_of_process(process, mapping.path));
    if (!image.ok()) continue;
    const auto first = std::find_if(mappings.begin(), mappings.end(),
                                    [&](const TargetMapping& other) { return other.path == mapping.path; });
    const std::uint64_t bias = first->begin - image.value().lowest_address();
    modules.push_back({mapping.path, bias, std::move(image).value()});
  }
  return modules;
}

std::map<std::string_view, std::uint64_t> defined_functions(const ElfImage& image) {
  constexpr std::uint16_t kHidden = 0x8000;  // an old version
  std::map<std::string_view, std::uint64_t> functions;
  const auto symbols = image.section(".dynsym");
  const auto names = image.section(".dynstr");
  const auto versions = image.section(".gnu.version");
  for (std::size_t at = 0; at < entries_in<Elf64_Sym>(symbols); ++at) {
    const auto symbol = entry_of<Elf64_Sym>(symbols->bytes, at);
    if (symbol.st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol.st_info) != STT_FUNC) continue;
    if (at < entries_in<std::uint16_t>(versions) && (entry_of<std::uint16_t>(versions->bytes, at) & kHidden) != 0)
      continue;
    functions.emplace(text_of(names, symbol.st_name), symbol.st_value);
  }
  return functions;
}

std::vector<CallWord> call_words(const ElfImage& image) {
  const auto symbols = image.section(".dynsym");
  const auto names = image.section(".dynstr");
  std::vector<CallWord> words;
  std::set<std::uint64_t> addresses;
  for (const char* const table : {".rela.plt", ".rela.dyn"}) {
    const auto relocations = image.section(table);
    for (std::size_t at = 0; at < entries_in<Elf64_Rela>(relocations); ++at) {
      const auto relocation = entry_of<Elf64_Rela>(relocations->bytes, at);
      const auto type = ELF64_R_TYPE(relocation.r_info);
      if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT && type != R_X86_64_64) continue;
      if (ELF64_R_SYM(relocation.r_info) >= entries_in<Elf64_Sym>(symbols)) continue;
      const auto symbol = entry_of<Elf64_Sym>(symbols->bytes, ELF64_R_SYM(relocation.r_info));
      const bool is_aligned = relocation.r_offset % sizeof(std::uint64_t) == 0;
      words.push_back({text_of(names, symbol.st_name), relocation.r_offset, is_aligned && type != R_X86_64_64});
      if (type == R_X86_64_GLOB_DAT) addresses.insert(relocation.r_offset);
    }
  }
  const std::set<std::uint64_t> used = otherwise_used(image, addresses);
  for (CallWord& word : words) {
    if (used.contains(word.address)) word.is_only_called = false;
  }
  return words;
}

}  // namespace deadheat::watch
