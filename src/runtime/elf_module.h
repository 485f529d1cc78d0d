// SPDX-License-Identifier: Apache-2.0
// The names that a loaded file of code defines for others and asks of others, read from the
// tables that the dynamic linker works with. Nothing here calls the linker, so it may
// be used while the linker's lock is held.
#pragma once

#include <link.h>

#include <cstddef>
#include <cstdint>

#include "model/identity.h"

namespace deadheat::runtime {

class ElfModule {
 public:
  // The module is the one that dl_iterate_phdr() shows.
  explicit ElfModule(const dl_phdr_info& info);

  // Without folders and what follows ".so": "libgomp". Empty for the program itself.
  [[nodiscard]] bool is_named(const char* library) const;
  // "libQt5" of "libQt5Core.so.5".
  [[nodiscard]] bool name_begins_with(const char* beginning) const;
  // The default version of an exported function; 0 if the module has none. A function that
  // the dynamic linker chooses by the processor (an IFUNC) counts as none.
  [[nodiscard]] Address find_function(const char* name) const;
  // A variable that it exports.
  [[nodiscard]] Address find_object(const char* name) const;
  [[nodiscard]] bool holds(Address address) const { return address >= begin_ && address < end_; }

  // Calls visit(name, slot, context) for each word that the dynamic linker fills with the address
  // of a symbol: of those that the module does not define itself, or of its own as well, which it
  // asks for because another module may define them.
  enum class Symbols : std::uint8_t { kOfOthers, kAll };
  using Visit = void(const char* name, Address* slot, void* context);
  void for_each_import(Symbols which, Visit* visit, void* context) const;

  // Stores `value` in a slot that may lie in memory that the dynamic linker has made
  // read-only. False if the system refuses.
  bool fill_slot(Address* slot, Address value) const;

 private:
  [[nodiscard]] const char* file_name() const;
  [[nodiscard]] Address find_symbol(const char* name, unsigned type) const;
  void read_dynamic(const ElfW(Dyn) * entry);
  void visit_relocations(const ElfW(Rela) * first, std::size_t bytes, Symbols which, Visit* visit, void* context) const;
  [[nodiscard]] bool is_hidden(std::uint32_t symbol) const;

  const char* path_ = "";
  Address base_ = 0;
  Address begin_ = ~Address{0};
  Address end_ = 0;
  Address read_only_begin_ = 0;  // after relocation
  Address read_only_end_ = 0;
  const ElfW(Sym) * symbols_ = nullptr;
  const char* strings_ = nullptr;
  const std::uint32_t* hashes_ = nullptr;
  const std::uint16_t* versions_ = nullptr;
  const ElfW(Rela) * calls_ = nullptr;
  std::size_t calls_size_ = 0;
  const ElfW(Rela) * others_ = nullptr;
  std::size_t others_size_ = 0;
};

[[nodiscard]] bool is_same_name(const char* one, const char* other);

}  // namespace deadheat::runtime
