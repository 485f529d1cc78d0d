// SPDX-License-Identifier: Apache-2.0
// Small ELF files for tests: one section of code, one page of data of each kind, made in
// memory. Addresses are fixed, so that tests can name them:
//   0x401000 code    0x402000 constants    0x403000 read-only after relocation    0x404000 data
#pragma once

#include <elf.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace deadheat::watch {

using Bytes = std::vector<std::byte>;

inline Bytes bytes_of(std::initializer_list<int> values) {
  Bytes bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

inline constexpr std::uint64_t kImageBase = 0x400000;
inline constexpr std::uint64_t kCodeAddress = 0x401000;
inline constexpr std::uint64_t kConstantsAddress = 0x402000;
inline constexpr std::uint64_t kRelroAddress = 0x403000;
inline constexpr std::uint64_t kDataAddress = 0x404000;

// A function symbol, by its place in the code.
struct FunctionSymbol {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

enum class SectionHeaders { kNone, kPresent };

class ElfBuilder {
 public:
  explicit ElfBuilder(Bytes code) : code_(std::move(code)) {}

  ElfBuilder& functions(std::vector<FunctionSymbol> functions) {
    functions_ = std::move(functions);
    return *this;
  }
  // For clang's list of atomic instructions, at kDataAddress.
  ElfBuilder& atomics(Bytes list) {
    atomics_ = std::move(list);
    return *this;
  }

  [[nodiscard]] Bytes build(SectionHeaders headers = SectionHeaders::kPresent) const {
    Bytes file(0x5000);
    Elf64_Ehdr head{};
    std::memcpy(head.e_ident, ELFMAG, SELFMAG);
    head.e_ident[EI_CLASS] = ELFCLASS64;
    head.e_ident[EI_DATA] = ELFDATA2LSB;
    head.e_ident[EI_VERSION] = EV_CURRENT;
    head.e_type = ET_EXEC;
    head.e_machine = EM_X86_64;
    head.e_ehsize = sizeof head;
    head.e_phoff = sizeof head;
    head.e_phentsize = sizeof(Elf64_Phdr);
    const Elf64_Phdr segments[] = {
        segment(PT_LOAD, PF_R, kImageBase, 0x1000),         segment(PT_LOAD, PF_R | PF_X, kCodeAddress, code_.size()),
        segment(PT_LOAD, PF_R, kConstantsAddress, 0x1000),  segment(PT_LOAD, PF_R | PF_W, kRelroAddress, 0x2000),
        segment(PT_GNU_RELRO, PF_R, kRelroAddress, 0x1000),
    };
    head.e_phnum = std::size(segments);
    std::memcpy(file.data() + sizeof head, segments, sizeof segments);
    std::copy(code_.begin(), code_.end(), file.begin() + (kCodeAddress - kImageBase));
    std::copy(atomics_.begin(), atomics_.end(), file.begin() + (kDataAddress - kImageBase));
    if (headers == SectionHeaders::kPresent) add_sections(file, head);
    std::memcpy(file.data(), &head, sizeof head);
    return file;
  }

 private:
  static Elf64_Phdr segment(std::uint32_t type, std::uint32_t flags, std::uint64_t address, std::uint64_t size) {
    return {type, flags, address - kImageBase, address, address, size, size, 0x1000};
  }

  void add_sections(Bytes& file, Elf64_Ehdr& head) const {
    static constexpr std::string_view kNames{"\0.text\0.symtab\0.names\0sanmd_atomics2\0", 38};
    std::vector<Elf64_Sym> symbols(1);
    for (const FunctionSymbol& function : functions_) {
      symbols.push_back({0, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, 1, kCodeAddress + function.offset, function.size});
    }
    const std::uint64_t names_at = append(file, std::as_bytes(std::span(kNames)));
    const std::uint64_t symbols_at = append(file, std::as_bytes(std::span(symbols)));
    const std::vector<Elf64_Shdr> sections = {
        {},
        {1, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, kCodeAddress, kCodeAddress - kImageBase, code_.size(), 0, 0, 16,
         0},
        {7, SHT_SYMTAB, 0, 0, symbols_at, symbols.size() * sizeof(Elf64_Sym), 0, 0, 8, sizeof(Elf64_Sym)},
        {15, SHT_STRTAB, 0, 0, names_at, kNames.size(), 0, 0, 1, 0},
        {22, SHT_PROGBITS, SHF_ALLOC, kDataAddress, kDataAddress - kImageBase, atomics_.size(), 0, 0, 1, 0},
    };
    head.e_shoff = append(file, std::as_bytes(std::span(sections)));
    head.e_shentsize = sizeof(Elf64_Shdr);
    head.e_shnum = static_cast<std::uint16_t>(sections.size());
    head.e_shstrndx = 3;
  }

  static std::uint64_t append(Bytes& file, std::span<const std::byte> bytes) {
    const std::uint64_t at = file.size();
    file.insert(file.end(), bytes.begin(), bytes.end());
    return at;
  }

  Bytes code_;
  Bytes atomics_;
  std::vector<FunctionSymbol> functions_;
};

}  // namespace deadheat::watch
