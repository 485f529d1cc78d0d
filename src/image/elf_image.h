// SPDX-License-Identifier: Apache-2.0
// ElfImage: what must be known of a program or library without running it: where its code
// is, where its functions begin and end, which of its data can change, what it needs.
//
// Reads the file's own headers and nothing else. Every offset in a file is checked before it
// is followed; a table that makes no sense is no table.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace deadheat {

// Addresses as the file says them, before it is loaded anywhere.
struct AddressRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  friend bool operator==(const AddressRange&, const AddressRange&) = default;
};

struct PlacedBytes {
  std::uint64_t address = 0;
  std::span<const std::byte> bytes;
};

// From the dynamic section.
struct LibraryNeeds {
  std::vector<std::string> names;  // DT_NEEDED
  std::string rpath;               // as written: colons, $ORIGIN
  std::string runpath;
};

class ElfImage {
 public:
  // kIo: cannot be read. Otherwise as parse().
  [[nodiscard]] static Result<ElfImage> open(const std::string& path);
  // kMalformed: not an ELF file, or it ends too early. kUnsupported: not for x86-64, or
  // neither a program nor a shared library. Errors say `name`; the bytes must stay.
  [[nodiscard]] static Result<ElfImage> parse(std::span<const std::byte> bytes, const std::string& name);

  [[nodiscard]] std::uint64_t file_size() const { return bytes_.size(); }
  // Where the first mapping of the file begins.
  [[nodiscard]] std::uint64_t lowest_address() const { return lowest_address_; }
  // The executable sections; without section headers, the executable segments.
  [[nodiscard]] const std::vector<PlacedBytes>& code() const { return code_; }
  // May the program write there? Not after relocation, for what is read-only from then on.
  [[nodiscard]] bool is_writable(std::uint64_t address) const;
  // That the unwind table or a symbol names: sorted, without overlaps.
  [[nodiscard]] std::vector<AddressRange> functions() const;
  [[nodiscard]] std::optional<PlacedBytes> section(std::string_view name) const;
  [[nodiscard]] LibraryNeeds needs() const;
  // Address of the function or object of that name, as the file says it.
  [[nodiscard]] std::optional<std::uint64_t> symbol(std::string_view name) const;
  // Of functions: that symbol, or all that the source calls so, without arguments and unnamed namespaces. Each once.
  [[nodiscard]] std::vector<std::uint64_t> functions_named(std::string_view name) const;
  // Where the byte of the file at that offset is loaded, if it is.
  [[nodiscard]] std::optional<std::uint64_t> address_of(std::uint64_t offset) const;
  // What the linker called this very file; empty if it did not.
  [[nodiscard]] std::span<const std::byte> build_id() const;
  // Of the file itself, as long as an image of it lives; none if it ends before.
  [[nodiscard]] std::optional<std::span<const std::byte>> slice(std::uint64_t offset, std::uint64_t size) const;

 private:
  ElfImage() = default;
  Status read_segments(const Elf64_Ehdr& header, const std::string& name);
  Status read_sections(const Elf64_Ehdr& header, const std::string& name);
  Status find_code(const std::string& name);
  void add_unwound_functions(std::vector<AddressRange>& functions) const;
  void add_named_functions(std::vector<AddressRange>& functions) const;
  [[nodiscard]] std::optional<std::span<const std::byte>> bytes_at(std::uint64_t address, std::uint64_t size) const;
  template <class T>
  [[nodiscard]] std::optional<T> value_at(std::uint64_t address) const;

  std::shared_ptr<const void> mapping_;  // null when the bytes are somebody else's
  std::span<const std::byte> bytes_;
  std::vector<Elf64_Phdr> segments_;
  std::vector<Elf64_Shdr> sections_;
  std::vector<PlacedBytes> code_;
  std::uint64_t lowest_address_ = 0;
};

}  // namespace deadheat
