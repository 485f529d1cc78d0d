// SPDX-License-Identifier: Apache-2.0
#include "image/elf_image.h"

#include <cxxabi.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <tuple>

namespace deadheat {
namespace {

constexpr std::uint64_t kPage = 4096;

// As the source calls it: without arguments, unnamed namespaces and what the compiler appended. Of functions that are
// no templates; the others' names begin with what they return.
std::string source_name(std::string_view symbol) {
  const std::string plain(symbol.substr(0, symbol.find('.')));
  int status = 0;
  char* const words = abi::__cxa_demangle(plain.c_str(), nullptr, nullptr, &status);
  std::string name = status == 0 && words != nullptr ? words : plain;
  std::free(words);
  constexpr std::string_view kUnnamed = "(anonymous namespace)::";
  for (std::size_t at = name.find(kUnnamed); at != std::string::npos; at = name.find(kUnnamed)) {
    name.erase(at, kUnnamed.size());
  }
  return name.substr(0, name.find('('));
}

Error malformed(const std::string& name, const std::string& what) {
  return {ErrorCode::kMalformed, fmt::format("'{}' {}", name, what)};
}

Error cut_off(const std::string& name, std::string_view what) {
  return malformed(name, fmt::format("is cut off: its {} end after the file does", what));
}

Error unsupported(const std::string& name, std::string_view what) {
  return {ErrorCode::kUnsupported, fmt::format("'{}' {}", name, what)};
}

// The file may be mapped anywhere, so nothing in it is aligned.
template <class T>
T load(std::span<const std::byte> bytes, std::size_t index = 0) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof value, sizeof value);
  return value;
}

std::string_view string_at(std::span<const std::byte> strings, std::uint64_t offset) {
  if (offset >= strings.size()) return {};
  const auto* begin = reinterpret_cast<const char*>(strings.data()) + offset;
  return {begin, ::strnlen(begin, strings.size() - offset)};
}

Status check_header(const Elf64_Ehdr& header, const std::string& name) {
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_machine != EM_X86_64) {
    return unsupported(name, "is not for x86-64");
  }
  if (header.e_type != ET_EXEC && header.e_type != ET_DYN) {
    return unsupported(name, "is neither a program nor a shared library");
  }
  if (header.e_phnum != 0 && header.e_phentsize != sizeof(Elf64_Phdr)) {
    return malformed(name, fmt::format("has program headers of {} bytes", header.e_phentsize));
  }
  if (header.e_shnum != 0 && header.e_shentsize != sizeof(Elf64_Shdr)) {
    return malformed(name, fmt::format("has section headers of {} bytes", header.e_shentsize));
  }
  return {};
}

template <class T>
std::vector<T> copies(std::span<const std::byte> bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

}  // namespace

Result<ElfImage> ElfImage::open(const std::string& path) {
  const auto failed = [&] {
    return Error{ErrorCode::kIo, fmt::format("cannot read '{}': {}", path, std::strerror(errno))};
  };
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return failed();
  const std::shared_ptr<const void> closer(nullptr, [file](const void*) { ::close(file); });
  struct stat status{};
  if (::fstat(file, &status) != 0) return failed();
  if (!S_ISREG(status.st_mode)) return malformed(path, "is not a file");
  if (status.st_size == 0) return malformed(path, "is empty");
  const auto size = static_cast<std::size_t>(status.st_size);
  void* memory = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  if (memory == MAP_FAILED) return failed();
  std::shared_ptr<const void> mapping(memory, [memory, size](const void*) { ::munmap(memory, size); });
  auto image = parse({static_cast<const std::byte*>(memory), size}, path);
  if (image.ok()) image.value().mapping_ = std::move(mapping);
  return image;
}

Result<ElfImage> ElfImage::parse(std::span<const std::byte> bytes, const std::string& name) {
  if (bytes.size() >= 2 && std::memcmp(bytes.data(), "#!", 2) == 0) {
    return malformed(name, "is a script; name the program that runs it");
  }
  if (bytes.size() < SELFMAG || std::memcmp(bytes.data(), ELFMAG, SELFMAG) != 0) {
    return malformed(name, "is not an ELF file");
  }
  if (bytes.size() < sizeof(Elf64_Ehdr)) return malformed(name, "is cut off inside of its header");
  const auto header = load<Elf64_Ehdr>(bytes);
  if (Status status = check_header(header, name); !status.ok()) return status.error();
  ElfImage image;
  image.bytes_ = bytes;
  if (Status status = image.read_segments(header, name); !status.ok()) return status.error();
  if (Status status = image.read_sections(header, name); !status.ok()) return status.error();
  if (Status status = image.find_code(name); !status.ok()) return status.error();
  return image;
}

Status ElfImage::read_segments(const Elf64_Ehdr& header, const std::string& name) {
  const auto table = slice(header.e_phoff, std::uint64_t{header.e_phnum} * sizeof(Elf64_Phdr));
  if (!table) return cut_off(name, "program headers");
  segments_ = copies<Elf64_Phdr>(*table);
  std::optional<std::uint64_t> lowest;
  for (const Elf64_Phdr& segment : segments_) {
    if (segment.p_type != PT_LOAD) continue;
    if (!slice(segment.p_offset, segment.p_filesz)) return cut_off(name, "segments");
    lowest = std::min(lowest.value_or(UINT64_MAX), segment.p_vaddr / kPage * kPage);
  }
  if (!lowest) return malformed(name, "has nothing that could be loaded");
  lowest_address_ = *lowest;
  return {};
}

Status ElfImage::read_sections(const Elf64_Ehdr& header, const std::string& name) {
  if (header.e_shoff == 0) return {};
  std::uint64_t count = header.e_shnum;
  if (count == 0) {  // more than fit: the first one says how many
    const auto first = slice(header.e_shoff, sizeof(Elf64_Shdr));
    if (!first) return cut_off(name, "section headers");
    count = load<Elf64_Shdr>(*first).sh_size;
    if (count > bytes_.size()) return cut_off(name, "section headers");
  }
  const auto table = slice(header.e_shoff, count * sizeof(Elf64_Shdr));
  if (!table) return cut_off(name, "section headers");
  sections_ = copies<Elf64_Shdr>(*table);
  // The names' section stands last, where section() looks for it.
  std::uint32_t names = header.e_shstrndx;
  if (names == SHN_XINDEX && !sections_.empty()) names = sections_.front().sh_link;
  sections_.push_back(names < sections_.size() ? sections_[names] : Elf64_Shdr{});
  return {};
}

Status ElfImage::find_code(const std::string& name) {
  for (const Elf64_Shdr& section : sections_) {
    const bool is_code = (section.sh_flags & SHF_ALLOC) != 0 && (section.sh_flags & SHF_EXECINSTR) != 0;
    if (!is_code || section.sh_type == SHT_NOBITS) continue;
    const auto bytes = slice(section.sh_offset, section.sh_size);
    if (!bytes) return cut_off(name, "sections");
    code_.push_back({section.sh_addr, *bytes});
  }
  if (sections_.empty()) {
    for (const Elf64_Phdr& segment : segments_) {
      if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
      code_.push_back({segment.p_vaddr, *slice(segment.p_offset, segment.p_filesz)});
    }
  }
  std::sort(code_.begin(), code_.end(),
            [](const PlacedBytes& one, const PlacedBytes& other) { return one.address < other.address; });
  return {};
}

bool ElfImage::is_writable(std::uint64_t address) const {
  bool is_writable = false;
  for (const Elf64_Phdr& segment : segments_) {
    if (address < segment.p_vaddr || address - segment.p_vaddr >= segment.p_memsz) continue;
    if (segment.p_type == PT_LOAD && (segment.p_flags & PF_W) != 0) is_writable = true;
    // The loader protects whole pages only.
    if (segment.p_type == PT_GNU_RELRO && address < (segment.p_vaddr + segment.p_memsz) / kPage * kPage) return false;
  }
  return is_writable;
}

std::vector<AddressRange> ElfImage::functions() const {
  std::vector<AddressRange> functions;
  add_unwound_functions(functions);
  add_named_functions(functions);
  std::sort(functions.begin(), functions.end(), [](const AddressRange& one, const AddressRange& other) {
    return std::tie(one.begin, one.end) < std::tie(other.begin, other.end);
  });
  std::vector<AddressRange> apart;
  for (const AddressRange& function : functions) {
    if (!apart.empty() && function.begin < apart.back().end) {
      apart.back().end = std::max(apart.back().end, function.end);
    } else {
      apart.push_back(function);
    }
  }
  return apart;
}

// The sorted table of .eh_frame_hdr leads to each function's entry in .eh_frame. Only the
// encodings that linkers write for x86-64 are known; others name no function.
void ElfImage::add_unwound_functions(std::vector<AddressRange>& functions) const {
  struct TableHead {
    std::uint8_t version, frame_encoding, count_encoding, table_encoding;
    std::int32_t frame;
    std::uint32_t count;
  };
  struct TableEntry {
    std::int32_t function, frame;  // from the table head
  };
  struct FrameEntry {
    std::uint32_t length, common;
    std::int32_t function;  // from here
    std::uint32_t size;
  };
  constexpr std::uint8_t kUnsigned4 = 0x03;
  constexpr std::uint8_t kFromHead = 0x3b;
  const auto table = std::find_if(segments_.begin(), segments_.end(),
                                  [](const Elf64_Phdr& segment) { return segment.p_type == PT_GNU_EH_FRAME; });
  if (table == segments_.end()) return;
  const auto head = value_at<TableHead>(table->p_vaddr);
  if (!head || head->version != 1 || head->count_encoding != kUnsigned4 || head->table_encoding != kFromHead) return;
  const auto entries = bytes_at(table->p_vaddr + sizeof(TableHead), std::uint64_t{head->count} * sizeof(TableEntry));
  if (!entries) return;
  for (std::size_t index = 0; index < head->count; ++index) {
    const auto entry = load<TableEntry>(*entries, index);
    const std::uint64_t begin = table->p_vaddr + static_cast<std::uint64_t>(std::int64_t{entry.function});
    const std::uint64_t place = table->p_vaddr + static_cast<std::uint64_t>(std::int64_t{entry.frame});
    const auto frame = value_at<FrameEntry>(place);
    if (!frame || frame->size == 0) continue;
    const std::uint64_t said =
        place + offsetof(FrameEntry, function) + static_cast<std::uint64_t>(std::int64_t{frame->function});
    if (said == begin && begin + frame->size > begin) functions.push_back({begin, begin + frame->size});
  }
}

void ElfImage::add_named_functions(std::vector<AddressRange>& functions) const {
  for (const Elf64_Shdr& section : sections_) {
    if (section.sh_type != SHT_SYMTAB && section.sh_type != SHT_DYNSYM) continue;
    const auto bytes = slice(section.sh_offset, section.sh_size);
    if (!bytes) continue;
    for (std::size_t index = 0; index < bytes->size() / sizeof(Elf64_Sym); ++index) {
      const auto symbol = load<Elf64_Sym>(*bytes, index);
      const int type = ELF64_ST_TYPE(symbol.st_info);
      if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol.st_shndx == SHN_UNDEF || symbol.st_size == 0) continue;
      if (symbol.st_value + symbol.st_size <= symbol.st_value) continue;
      functions.push_back({symbol.st_value, symbol.st_value + symbol.st_size});
    }
  }
}

std::vector<std::uint64_t> ElfImage::functions_named(std::string_view name) const {
  std::vector<std::uint64_t> found;
  for (const Elf64_Shdr& section : sections_) {
    if (section.sh_type != SHT_SYMTAB && section.sh_type != SHT_DYNSYM) continue;
    if (section.sh_link >= sections_.size()) continue;
    const auto bytes = slice(section.sh_offset, section.sh_size);
    const auto names = slice(sections_[section.sh_link].sh_offset, sections_[section.sh_link].sh_size);
    if (!bytes || !names) continue;
    for (std::size_t index = 0; index < bytes->size() / sizeof(Elf64_Sym); ++index) {
      const auto symbol = load<Elf64_Sym>(*bytes, index);
      if (symbol.st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol.st_info) != STT_FUNC) continue;
      const std::string_view written = string_at(*names, symbol.st_name);
      if (written == name || source_name(written) == name) found.push_back(symbol.st_value);
    }
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

std::optional<std::uint64_t> ElfImage::symbol(std::string_view name) const {
  for (const Elf64_Shdr& section : sections_) {
    if (section.sh_type != SHT_SYMTAB && section.sh_type != SHT_DYNSYM) continue;
    if (section.sh_link >= sections_.size()) continue;
    const auto bytes = slice(section.sh_offset, section.sh_size);
    const auto names = slice(sections_[section.sh_link].sh_offset, sections_[section.sh_link].sh_size);
    if (!bytes || !names) continue;
    for (std::size_t index = 0; index < bytes->size() / sizeof(Elf64_Sym); ++index) {
      const auto symbol = load<Elf64_Sym>(*bytes, index);
      if (symbol.st_shndx != SHN_UNDEF && string_at(*names, symbol.st_name) == name) return symbol.st_value;
    }
  }
  return std::nullopt;
}

std::optional<PlacedBytes> ElfImage::section(std::string_view name) const {
  if (sections_.empty()) return std::nullopt;
  const auto names = slice(sections_.back().sh_offset, sections_.back().sh_size);
  if (!names) return std::nullopt;
  for (const Elf64_Shdr& section : sections_) {
    if (section.sh_type == SHT_NOBITS || string_at(*names, section.sh_name) != name) continue;
    const auto bytes = slice(section.sh_offset, section.sh_size);
    if (bytes) return PlacedBytes{section.sh_addr, *bytes};
  }
  return std::nullopt;
}

std::optional<std::uint64_t> ElfImage::address_of(std::uint64_t offset) const {
  for (const Elf64_Phdr& segment : segments_) {
    // Whole pages are mapped.
    const std::uint64_t begin = segment.p_offset & ~(kPage - 1);
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    if (offset >= begin && offset - begin < segment.p_filesz + (segment.p_offset - begin)) {
      return segment.p_vaddr - segment.p_offset + offset;
    }
  }
  return std::nullopt;
}

std::span<const std::byte> ElfImage::build_id() const {
  constexpr std::uint64_t kHeader = sizeof(Elf64_Nhdr);
  const auto padded = [](std::uint64_t size) { return (size + 3) & ~std::uint64_t{3}; };
  for (const Elf64_Phdr& segment : segments_) {
    if (segment.p_type != PT_NOTE) continue;
    auto notes = slice(segment.p_offset, segment.p_filesz).value_or(std::span<const std::byte>{});
    while (notes.size() >= kHeader) {
      const auto note = load<Elf64_Nhdr>(notes);
      const std::uint64_t begin = kHeader + padded(note.n_namesz);
      if (begin > notes.size() || note.n_descsz > notes.size() - begin) break;
      const bool is_id = note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof "GNU" &&
                         std::memcmp(notes.data() + kHeader, "GNU", sizeof "GNU") == 0;
      if (is_id) return notes.subspan(begin, note.n_descsz);
      notes = notes.subspan(std::min<std::uint64_t>(notes.size(), begin + padded(note.n_descsz)));
    }
  }
  return {};
}

LibraryNeeds ElfImage::needs() const {
  LibraryNeeds needs;
  std::vector<Elf64_Dyn> entries;
  for (const Elf64_Phdr& segment : segments_) {
    const auto bytes = segment.p_type == PT_DYNAMIC ? slice(segment.p_offset, segment.p_filesz) : std::nullopt;
    if (bytes) entries = copies<Elf64_Dyn>(*bytes);
  }
  const auto value_of = [&](std::int64_t tag) -> std::uint64_t {
    const auto found =
        std::find_if(entries.begin(), entries.end(), [&](const auto& entry) { return entry.d_tag == tag; });
    return found == entries.end() ? 0 : found->d_un.d_val;
  };
  const auto strings = bytes_at(value_of(DT_STRTAB), value_of(DT_STRSZ));
  if (!strings) return needs;
  for (const Elf64_Dyn& entry : entries) {
    const auto text = string_at(*strings, entry.d_un.d_val);
    if (entry.d_tag == DT_NULL) break;
    if (entry.d_tag == DT_NEEDED && !text.empty()) needs.names.emplace_back(text);
    if (entry.d_tag == DT_RPATH) needs.rpath = text;
    if (entry.d_tag == DT_RUNPATH) needs.runpath = text;
  }
  return needs;
}

std::optional<std::span<const std::byte>> ElfImage::slice(std::uint64_t offset, std::uint64_t size) const {
  if (offset > bytes_.size() || size > bytes_.size() - offset) return std::nullopt;
  return bytes_.subspan(offset, size);
}

std::optional<std::span<const std::byte>> ElfImage::bytes_at(std::uint64_t address, std::uint64_t size) const {
  for (const Elf64_Phdr& segment : segments_) {
    if (segment.p_type != PT_LOAD || address < segment.p_vaddr) continue;
    const std::uint64_t within = address - segment.p_vaddr;
    if (within > segment.p_filesz || size > segment.p_filesz - within) continue;
    return slice(segment.p_offset + within, size);
  }
  return std::nullopt;
}

template <class T>
std::optional<T> ElfImage::value_at(std::uint64_t address) const {
  const auto bytes = bytes_at(address, sizeof(T));
  if (!bytes) return std::nullopt;
  return load<T>(*bytes);
}

}  // namespace deadheat
