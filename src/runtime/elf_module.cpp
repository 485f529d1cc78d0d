// SPDX-License-Identifier: Apache-2.0
#include "runtime/elf_module.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include "runtime/system.h"

namespace deadheat::runtime {
namespace {

constexpr Address kPage = 4096;

std::uint32_t hash_of(const char* name) {
  std::uint32_t hash = 5381;
  for (; *name != 0; ++name) hash = hash * 33 + static_cast<unsigned char>(*name);
  return hash;
}

}  // namespace

bool is_same_name(const char* one, const char* other) {
  while (*one != 0 && *one == *other) {
    ++one;
    ++other;
  }
  return *one == *other;
}

ElfModule::ElfModule(const dl_phdr_info& info)
    : path_(info.dlpi_name != nullptr ? info.dlpi_name : ""), base_(info.dlpi_addr) {
  const ElfW(Dyn)* dynamic = nullptr;
  for (int index = 0; index < info.dlpi_phnum; ++index) {
    const auto& header = info.dlpi_phdr[index];
    const Address first = base_ + header.p_vaddr;
    if (header.p_type == PT_DYNAMIC) dynamic = reinterpret_cast<const ElfW(Dyn)*>(first);
    if (header.p_type == PT_GNU_RELRO) {
      read_only_begin_ = first & ~(kPage - 1);
      read_only_end_ = (first + header.p_memsz) & ~(kPage - 1);
    }
    if (header.p_type != PT_LOAD) continue;
    if (first < begin_) begin_ = first;
    if (first + header.p_memsz > end_) end_ = first + header.p_memsz;
  }
  if (dynamic != nullptr) read_dynamic(dynamic);
}

void ElfModule::read_dynamic(const ElfW(Dyn) * entry) {
  for (; entry->d_tag != DT_NULL; ++entry) {
    // The linker has made addresses of these, but for those of the kernel's own module.
    const Address value = entry->d_un.d_ptr;
    const Address at = value < base_ ? value + base_ : value;
    if (entry->d_tag == DT_SYMTAB) symbols_ = reinterpret_cast<const ElfW(Sym)*>(at);
    if (entry->d_tag == DT_STRTAB) strings_ = reinterpret_cast<const char*>(at);
    if (entry->d_tag == DT_GNU_HASH) hashes_ = reinterpret_cast<const std::uint32_t*>(at);
    if (entry->d_tag == DT_VERSYM) versions_ = reinterpret_cast<const std::uint16_t*>(at);
    if (entry->d_tag == DT_JMPREL) calls_ = reinterpret_cast<const ElfW(Rela)*>(at);
    if (entry->d_tag == DT_PLTRELSZ) calls_size_ = value;
    if (entry->d_tag == DT_RELA) others_ = reinterpret_cast<const ElfW(Rela)*>(at);
    if (entry->d_tag == DT_RELASZ) others_size_ = value;
  }
}

const char* ElfModule::file_name() const {
  const char* name = path_;
  for (const char* at = path_; *at != 0; ++at) {
    if (*at == '/') name = at + 1;
  }
  return name;
}

bool ElfModule::name_begins_with(const char* beginning) const {
  const char* name = file_name();
  while (*beginning != 0 && *beginning == *name) {
    ++beginning;
    ++name;
  }
  return *beginning == 0;
}

bool ElfModule::is_named(const char* library) const {
  const char* name = file_name();
  while (*library != 0 && *library == *name) {
    ++library;
    ++name;
  }
  // "libgomp.so.1", "libomp-19.so.5", "libglib-2.0.so.0", and not "libgomp-plugin-nvptx.so.1".
  if (*library != 0) return false;
  const auto is_digit = [](char letter) { return letter >= '0' && letter <= '9'; };
  while (*name == '-' || is_digit(*name) || (*name == '.' && is_digit(name[1]))) ++name;
  return name[0] == '.' && name[1] == 's' && name[2] == 'o';
}

bool ElfModule::is_hidden(std::uint32_t symbol) const {
  constexpr std::uint16_t kHidden = 0x8000;
  return versions_ != nullptr && (versions_[symbol] & kHidden) != 0;
}

Address ElfModule::find_function(const char* name) const { return find_symbol(name, STT_FUNC); }
Address ElfModule::find_object(const char* name) const { return find_symbol(name, STT_OBJECT); }

Address ElfModule::find_symbol(const char* name, unsigned type) const {
  if (symbols_ == nullptr || strings_ == nullptr || hashes_ == nullptr) return 0;
  const std::uint32_t buckets = hashes_[0];
  const std::uint32_t first_symbol = hashes_[1];
  const std::uint32_t filter_words = hashes_[2];
  if (buckets == 0) return 0;
  const std::uint32_t* const bucket = hashes_ + 4 + std::size_t{filter_words} * 2;
  const std::uint32_t* const chain = bucket + buckets;
  const std::uint32_t hash = hash_of(name);
  std::uint32_t symbol = bucket[hash % buckets];
  if (symbol < first_symbol) return 0;
  while (true) {
    const std::uint32_t seen = chain[symbol - first_symbol];
    const ElfW(Sym)& entry = symbols_[symbol];
    if ((seen | 1) == (hash | 1) && entry.st_shndx != SHN_UNDEF && ELF64_ST_TYPE(entry.st_info) == type &&
        !is_hidden(symbol) && is_same_name(strings_ + entry.st_name, name))
      return base_ + entry.st_value;
    if ((seen & 1) != 0) return 0;
    ++symbol;
  }
}

void ElfModule::visit_relocations(const ElfW(Rela) * first, std::size_t bytes, Symbols which, Visit* visit,
                                  void* context) const {
  if (first == nullptr) return;
  for (std::size_t index = 0; index < bytes / sizeof(ElfW(Rela)); ++index) {
    const ElfW(Rela)& relocation = first[index];
    const auto type = ELF64_R_TYPE(relocation.r_info);
    if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT && type != R_X86_64_64) continue;
    if (relocation.r_addend != 0) continue;
    const ElfW(Sym)& symbol = symbols_[ELF64_R_SYM(relocation.r_info)];
    if (symbol.st_name == 0 || (which == Symbols::kOfOthers && symbol.st_shndx != SHN_UNDEF)) continue;
    visit(strings_ + symbol.st_name, reinterpret_cast<Address*>(base_ + relocation.r_offset), context);
  }
}

void ElfModule::for_each_import(Symbols which, Visit* visit, void* context) const {
  if (symbols_ == nullptr || strings_ == nullptr) return;
  visit_relocations(calls_, calls_size_, which, visit, context);
  visit_relocations(others_, others_size_, which, visit, context);
}

bool ElfModule::fill_slot(Address* slot, Address value) const {
  const auto at = reinterpret_cast<Address>(slot);
  const bool is_read_only = at >= read_only_begin_ && at < read_only_end_;
  const Address page = at & ~(kPage - 1);
  if (is_read_only &&
      raw_call(SYS_mprotect, static_cast<long>(page), static_cast<long>(kPage), PROT_READ | PROT_WRITE) != 0)
    return false;
  __atomic_store_n(slot, value, __ATOMIC_RELAXED);
  if (is_read_only) raw_call(SYS_mprotect, static_cast<long>(page), static_cast<long>(kPage), PROT_READ);
  return true;
}

}  // namespace deadheat::runtime
