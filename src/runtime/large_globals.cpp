// SPDX-License-Identifier: Apache-2.0
#include "runtime/large_globals.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cstdint>

#include "runtime/system.h"

namespace deadheat::runtime {
namespace {

// A file as it lies on the disk, which may be anything.
class MappedFile {
 public:
  explicit MappedFile(const char* path) {
    const long file = raw_call(SYS_openat, AT_FDCWD, reinterpret_cast<long>(path), O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    struct stat status{};
    if (raw_call(SYS_fstat, file, reinterpret_cast<long>(&status)) == 0 && status.st_size > 0) {
      const auto size = static_cast<std::size_t>(status.st_size);
      const long mapped = raw_call(SYS_mmap, 0, static_cast<long>(size), PROT_READ, MAP_PRIVATE, file, 0);
      if (mapped > 0) {
        data_ = reinterpret_cast<const char*>(mapped);
        size_ = size;
      }
    }
    raw_call(SYS_close, file);
  }
  ~MappedFile() {
    if (data_ != nullptr) raw_call(SYS_munmap, reinterpret_cast<long>(data_), static_cast<long>(size_));
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  // So many T from the offset on; nullptr where the file does not have them.
  template <class T>
  [[nodiscard]] const T* at(std::uint64_t offset, std::uint64_t count = 1) const {
    if (offset > size_ || count > (size_ - offset) / sizeof(T) || offset % alignof(T) != 0) return nullptr;
    return reinterpret_cast<const T*>(data_ + offset);
  }

 private:
  const char* data_ = nullptr;
  std::size_t size_ = 0;
};

struct Wanted {
  std::size_t least;
  void (*visit)(Address begin, std::size_t size);
};

// The whole symbol table, or that of the dynamic linker.
const Elf64_Shdr* find_symbols(const MappedFile& file) {
  const auto* header = file.at<Elf64_Ehdr>(0);
  if (header == nullptr || header->e_ident[EI_MAG0] != ELFMAG0 || header->e_ident[EI_CLASS] != ELFCLASS64) {
    return nullptr;
  }
  const auto* sections = file.at<Elf64_Shdr>(header->e_shoff, header->e_shnum);
  const Elf64_Shdr* found = nullptr;
  for (std::uint32_t index = 0; sections != nullptr && index < header->e_shnum; ++index) {
    if (sections[index].sh_type == SHT_SYMTAB) return sections + index;
    if (sections[index].sh_type == SHT_DYNSYM) found = sections + index;
  }
  return found;
}

bool is_inside(const dl_phdr_info& module, const Elf64_Sym& symbol) {
  for (int index = 0; index < module.dlpi_phnum; ++index) {
    const ElfW(Phdr)& segment = module.dlpi_phdr[index];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) == 0 || symbol.st_value < segment.p_vaddr) continue;
    const std::uint64_t offset = symbol.st_value - segment.p_vaddr;
    if (offset <= segment.p_memsz && symbol.st_size <= segment.p_memsz - offset) return true;
  }
  return false;
}

bool has_room(const dl_phdr_info& module, std::size_t least) {
  for (int index = 0; index < module.dlpi_phnum; ++index) {
    const ElfW(Phdr)& segment = module.dlpi_phdr[index];
    if (segment.p_type == PT_LOAD && (segment.p_flags & PF_W) != 0 && segment.p_memsz >= least) return true;
  }
  return false;
}

int visit_module(dl_phdr_info* module, std::size_t /*size*/, void* context) {
  const Wanted& wanted = *static_cast<const Wanted*>(context);
  if (!has_room(*module, wanted.least)) return 0;
  const bool is_program = module->dlpi_name == nullptr || module->dlpi_name[0] == 0;
  const MappedFile file(is_program ? "/proc/self/exe" : module->dlpi_name);
  const Elf64_Shdr* table = find_symbols(file);
  if (table == nullptr) return 0;
  const std::uint64_t count = table->sh_size / sizeof(Elf64_Sym);
  const auto* symbols = file.at<Elf64_Sym>(table->sh_offset, count);
  for (std::uint64_t index = 0; symbols != nullptr && index < count; ++index) {
    const Elf64_Sym& symbol = symbols[index];
    if (ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT || symbol.st_size < wanted.least) continue;
    if (is_inside(*module, symbol)) wanted.visit(module->dlpi_addr + symbol.st_value, symbol.st_size);
  }
  return 0;
}

}  // namespace

void for_each_large_global(std::size_t least, void (*visit)(Address begin, std::size_t size)) {
  Wanted wanted{least, visit};
  dl_iterate_phdr(visit_module, &wanted);
}

}  // namespace deadheat::runtime
