// SPDX-License-Identifier: Apache-2.0
#include "cli/program_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gelf.h>
#include <libelf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <string_view>
#include <utility>

#include "cli/messages.h"

namespace deadheat {

namespace {

bool is_regular(const std::string& path) {
  struct stat status{};
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

LaunchError launch_refusal(const std::string& name, const std::string& path) {
  struct stat status{};
  if (stat(path.c_str(), &status) != 0) {
    const int error = errno;
    const LaunchFailure failure = error == ENOENT ? LaunchFailure::kNotFound : LaunchFailure::kNotExecutable;
    return {failure, fmt::format("cannot run '{}': {}", name, system_message(error))};
  }
  if (S_ISDIR(status.st_mode)) {
    return {LaunchFailure::kNotExecutable, fmt::format("cannot run '{}': it is a directory", name)};
  }
  if (access(path.c_str(), X_OK) != 0) {
    return {LaunchFailure::kNotExecutable,
            fmt::format("cannot run '{}': {} (is it executable? try chmod +x)", name, system_message(errno))};
  }
  return {LaunchFailure::kNotExecutable, fmt::format("cannot run '{}': it is not a regular file", name)};
}

// One open ELF file; closes what it opened.
class ElfFile {
 public:
  explicit ElfFile(const std::string& path) : descriptor_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (descriptor_ < 0) return;
    elf_version(EV_CURRENT);
    elf_ = elf_begin(descriptor_, ELF_C_READ_MMAP, nullptr);
  }
  ElfFile(const ElfFile&) = delete;
  ElfFile& operator=(const ElfFile&) = delete;
  ~ElfFile() {
    if (elf_ != nullptr) elf_end(elf_);
    if (descriptor_ >= 0) close(descriptor_);
  }

  [[nodiscard]] bool is_open() const { return descriptor_ >= 0; }
  [[nodiscard]] Elf* elf() const { return elf_; }

  [[nodiscard]] std::string_view start(std::span<char> buffer) const {
    const ssize_t size = pread(descriptor_, buffer.data(), buffer.size(), 0);
    return {buffer.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
  }

 private:
  int descriptor_;
  Elf* elf_ = nullptr;
};

struct Facts {
  std::vector<std::string> needed;
  std::string rpath;
  bool has_runpath = false;
  bool has_our_runtime = false;
  bool has_tsan_init = false;
};

std::string_view text_at(Elf* elf, std::size_t section, std::size_t offset) {
  const char* text = elf_strptr(elf, section, offset);
  return text == nullptr ? std::string_view{} : std::string_view(text);
}

void read_dynamic(Elf* elf, Elf_Scn* section, const GElf_Shdr& header, Facts& facts) {
  Elf_Data* data = elf_getdata(section, nullptr);
  const std::size_t count = data == nullptr || header.sh_entsize == 0 ? 0 : header.sh_size / header.sh_entsize;
  for (std::size_t index = 0; index < count; ++index) {
    GElf_Dyn entry;
    if (gelf_getdyn(data, static_cast<int>(index), &entry) == nullptr) return;
    const auto text = [&] { return std::string(text_at(elf, header.sh_link, entry.d_un.d_val)); };
    if (entry.d_tag == DT_NEEDED) facts.needed.push_back(text());
    if (entry.d_tag == DT_RPATH) facts.rpath = text();
    if (entry.d_tag == DT_RUNPATH) facts.has_runpath = true;
  }
}

void read_symbols(Elf* elf, Elf_Scn* section, const GElf_Shdr& header, Facts& facts) {
  Elf_Data* data = elf_getdata(section, nullptr);
  const std::size_t count = data == nullptr || header.sh_entsize == 0 ? 0 : header.sh_size / header.sh_entsize;
  for (std::size_t index = 0; index < count; ++index) {
    GElf_Sym symbol;
    if (gelf_getsym(data, static_cast<int>(index), &symbol) == nullptr) return;
    if (symbol.st_shndx == SHN_UNDEF) continue;
    const std::string_view name = text_at(elf, header.sh_link, symbol.st_name);
    if (name == "__deadheat_runtime_version") facts.has_our_runtime = true;
    if (name == "__tsan_init") facts.has_tsan_init = true;
  }
}

Facts read_facts(Elf* elf) {
  Facts facts;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr) continue;
    if (header.sh_type == SHT_DYNAMIC) read_dynamic(elf, section, header, facts);
    if (header.sh_type == SHT_DYNSYM || header.sh_type == SHT_SYMTAB) read_symbols(elf, section, header, facts);
  }
  return facts;
}

std::vector<std::string> directories_of(std::string_view list, const std::string& program) {
  const std::string origin = std::filesystem::path(program).parent_path().string();
  std::vector<std::string> directories;
  while (!list.empty()) {
    std::string one(list.substr(0, list.find(':')));
    list.remove_prefix(std::min(list.size(), one.size() + 1));
    for (const std::string_view variable : {"${ORIGIN}", "$ORIGIN"}) {
      const std::size_t at = one.find(variable);
      if (at != std::string::npos) one.replace(at, variable.size(), origin);
    }
    if (!one.empty()) directories.push_back(std::move(one));
  }
  return directories;
}

bool is_tsan_library(std::string_view name) {
  return name.starts_with("libtsan.so") || name.starts_with("libclang_rt.tsan");
}

}  // namespace

Lookup find_program(const std::string& name) {
  if (name.empty()) return {"", {LaunchFailure::kNotFound, "cannot run '': the name is empty"}};
  const auto can_run = [](const std::string& path) { return is_regular(path) && access(path.c_str(), X_OK) == 0; };
  if (name.find('/') != std::string::npos) {
    if (can_run(name)) return {name, {}};
    return {"", launch_refusal(name, name)};
  }
  const char* variable = std::getenv("PATH");
  std::string_view list = variable == nullptr ? "/usr/local/bin:/usr/bin:/bin" : variable;
  std::string forbidden;
  while (true) {
    const std::size_t colon = list.find(':');
    const std::string_view directory = list.substr(0, colon);
    std::string candidate = fmt::format("{}/{}", directory.empty() ? "." : directory, name);
    if (can_run(candidate)) return {std::move(candidate), {}};
    if (forbidden.empty() && is_regular(candidate)) forbidden = std::move(candidate);
    if (colon == std::string_view::npos) break;
    list.remove_prefix(colon + 1);
  }
  if (!forbidden.empty()) return {"", launch_refusal(forbidden, forbidden)};
  const bool is_here = is_regular(name);
  return {"",
          {LaunchFailure::kNotFound, fmt::format("cannot run '{0}': not found on PATH{1}", name,
                                                 is_here ? fmt::format("; for the one here write './{}'", name) : "")}};
}

Result<ProgramFile> inspect_program(const std::string& path) {
  const ElfFile file(path);
  if (!file.is_open()) {
    // A program may be executable and not readable: it can run, we know nothing of it.
    return Error{ErrorCode::kIo, fmt::format("cannot read '{}': {}", path, system_message(errno))};
  }
  ProgramFile program;
  program.path = path;
  char buffer[2];
  if (file.start(buffer) == "#!") {
    program.kind = ProgramKind::kScript;
    return program;
  }
  GElf_Ehdr header;
  if (file.elf() == nullptr || elf_kind(file.elf()) != ELF_K_ELF || gelf_getehdr(file.elf(), &header) == nullptr) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("cannot run '{}': it is neither an ELF program nor a script with '#!'", path)};
  }
  if (header.e_machine != EM_X86_64) {
    return Error{ErrorCode::kUnsupported, fmt::format("cannot run '{}': it is not a program for x86-64", path)};
  }
  const Facts facts = read_facts(file.elf());
  if (!facts.has_runpath) program.rpath = directories_of(facts.rpath, path);
  for (const std::string& name : facts.needed) {
    if (is_tsan_library(name)) {
      program.kind = ProgramKind::kSharedTsan;
      program.runtime_name = name;
    } else if (name.starts_with("libdeadheat")) {
      program.kind = ProgramKind::kDeadheat;
    }
  }
  if (facts.has_our_runtime) {
    program.kind = ProgramKind::kDeadheat;
  } else if (facts.has_tsan_init) {
    program.kind = ProgramKind::kStaticTsan;
  }
  return program;
}

}  // namespace deadheat
