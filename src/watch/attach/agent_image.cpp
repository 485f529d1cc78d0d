// SPDX-License-Identifier: Apache-2.0
#include "watch/attach/agent_image.h"

#include <elf.h>
#include <fmt/format.h>

#include <cstring>
#include <fstream>
#include <iterator>

#include "image/elf_image.h"
#include "watch/attach/target_modules.h"

namespace deadheat::watch {
namespace {

constexpr std::uint64_t kImagePage = 4096;
constexpr std::uint64_t kLargestImage = 64 << 20;

Error no_agent(const std::string& path, std::string_view what) {
  return {ErrorCode::kMalformed, fmt::format("'{}' is not the agent of this deadheat: {}", path, what)};
}

template <class T>
T value_in(const std::vector<std::byte>& bytes, std::uint64_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

}  // namespace

std::string_view AgentImage::text_at(std::uint64_t address) const {
  if (address >= memory_.size()) return {};
  const auto* const begin = reinterpret_cast<const char*>(memory_.data()) + address;
  return {begin, ::strnlen(begin, memory_.size() - address)};
}

Result<AgentImage> AgentImage::open(const std::string& path) {
  AgentImage agent;
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> characters{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file || characters.empty()) return Error{ErrorCode::kIo, fmt::format("cannot read '{}'", path)};
  agent.file_.resize(characters.size());
  std::memcpy(agent.file_.data(), characters.data(), characters.size());
  const auto image = ElfImage::parse(agent.file_, path);
  if (!image.ok()) return image.error();

  const auto header = value_in<Elf64_Ehdr>(agent.file_, 0);
  std::uint64_t end = 0;
  std::vector<Elf64_Phdr> segments;
  for (std::uint64_t at = 0; at < header.e_phnum; ++at) {
    const auto segment = value_in<Elf64_Phdr>(agent.file_, header.e_phoff + at * sizeof(Elf64_Phdr));
    if (segment.p_type == PT_TLS) return no_agent(path, "it has thread-local variables");
    if (segment.p_type != PT_LOAD) continue;
    segments.push_back(segment);
    end = std::max<std::uint64_t>(end, segment.p_vaddr + segment.p_memsz);
    if ((segment.p_flags & PF_X) == 0) continue;
    agent.code_begin_ = segment.p_vaddr / kImagePage * kImagePage;
    agent.code_end_ = (segment.p_vaddr + segment.p_memsz + kImagePage - 1) / kImagePage * kImagePage;
  }
  if (end == 0 || end > kLargestImage) return no_agent(path, "nothing to load");
  agent.memory_.resize((end + kImagePage - 1) / kImagePage * kImagePage);
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_offset + segment.p_filesz > agent.file_.size()) return no_agent(path, "it is cut off");
    std::memcpy(agent.memory_.data() + segment.p_vaddr, agent.file_.data() + segment.p_offset, segment.p_filesz);
  }

  for (const auto& [name, address] : defined_functions(image.value())) agent.functions_.emplace(name, address);
  const auto symbols = image.value().section(".dynsym");
  const auto names = image.value().section(".dynstr");
  if (!symbols || !names) return no_agent(path, "no symbols");
  for (const char* const table : {".rela.dyn", ".rela.plt"}) {
    const auto relocations = image.value().section(table);
    if (!relocations) continue;
    for (std::size_t at = 0; at + sizeof(Elf64_Rela) <= relocations->bytes.size(); at += sizeof(Elf64_Rela)) {
      Elf64_Rela relocation;
      std::memcpy(&relocation, relocations->bytes.data() + at, sizeof relocation);
      if (relocation.r_offset + sizeof(std::uint64_t) > agent.memory_.size()) return no_agent(path, "a bad relocation");
      const auto addend = static_cast<std::uint64_t>(relocation.r_addend);
      const auto type = ELF64_R_TYPE(relocation.r_info);
      if (type == R_X86_64_RELATIVE) {
        agent.words_.push_back({relocation.r_offset, addend, ""});
        continue;
      }
      if (type != R_X86_64_GLOB_DAT && type != R_X86_64_JUMP_SLOT && type != R_X86_64_64) {
        return no_agent(path, fmt::format("a relocation of type {}", type));
      }
      const std::size_t number = ELF64_R_SYM(relocation.r_info);
      Elf64_Sym symbol;
      if ((number + 1) * sizeof symbol > symbols->bytes.size()) return no_agent(path, "a bad relocation");
      std::memcpy(&symbol, symbols->bytes.data() + number * sizeof symbol, sizeof symbol);
      if (symbol.st_shndx != SHN_UNDEF) {
        agent.words_.push_back({relocation.r_offset, symbol.st_value + (type == R_X86_64_64 ? addend : 0), ""});
      } else {
        const auto* const text = reinterpret_cast<const char*>(names->bytes.data()) + symbol.st_name;
        agent.words_.push_back({relocation.r_offset, 0, text});
      }
    }
  }
  const auto originals = image.value().section("deadheat_originals");
  if (!originals) return no_agent(path, "it replaces nothing");
  agent.originals_ = originals->address;
  agent.originals_size_ = originals->bytes.size();
  agent.name_ = path;
  return agent;
}

std::vector<std::byte> AgentImage::place_at(std::uint64_t base,
                                            const std::function<std::uint64_t(std::string_view)>& resolve) const {
  std::vector<std::byte> placed = memory_;
  for (const Word& word : words_) {
    const std::uint64_t value = word.name.empty() ? base + word.value : resolve(word.name);
    std::memcpy(placed.data() + word.place, &value, sizeof value);
  }
  // Name and address of each: what the preloaded agent asks the loader for.
  for (std::uint64_t at = originals_; at + 16 <= originals_ + originals_size_; at += 16) {
    const auto name = value_in<std::uint64_t>(placed, at);
    if (name < base) continue;
    const std::uint64_t address = resolve(text_at(name - base));
    std::memcpy(placed.data() + at + 8, &address, sizeof address);
  }
  return placed;
}

}  // namespace deadheat::watch
