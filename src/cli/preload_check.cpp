// SPDX-License-Identifier: Apache-2.0
#include "cli/preload_check.h"

#include <elf.h>
#include <fmt/format.h>

#include <cstring>
#include <fstream>
#include <string_view>
#include <vector>

namespace deadheat {

namespace {

constexpr std::size_t kMostLoaderName = 4096;

template <class Part>
bool read_at(std::ifstream& file, std::uint64_t offset, Part& part) {
  file.clear();
  file.seekg(static_cast<std::streamoff>(offset));
  return static_cast<bool>(file.read(reinterpret_cast<char*>(&part), sizeof part));
}

// The loader that the program names; empty if it names none.
std::string loader_of(std::ifstream& file, const Elf64_Ehdr& header) {
  for (std::uint64_t number = 0; number < header.e_phnum; ++number) {
    Elf64_Phdr segment;
    if (!read_at(file, header.e_phoff + number * sizeof segment, segment)) return {};
    if (segment.p_type != PT_INTERP || segment.p_filesz > kMostLoaderName) continue;
    std::string name(segment.p_filesz, '\0');
    file.seekg(static_cast<std::streamoff>(segment.p_offset));
    file.read(name.data(), static_cast<std::streamsize>(name.size()));
    return name.c_str();
  }
  return {};
}

}  // namespace

bool is_script(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  char begin[2] = {};
  return file.read(begin, sizeof begin) && std::string_view(begin, sizeof begin) == "#!";
}

Status check_preload(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  Elf64_Ehdr header;
  if (!file || !read_at(file, 0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return {};
  const auto refused = [&](std::string_view why) {
    return Error{ErrorCode::kUnsupported, fmt::format("'{}' {}", path, why)};
  };
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != EM_X86_64) {
    return refused("is not a program for x86-64: only such can be looked at");
  }
  const std::string loader = loader_of(file, header);
  const std::string_view name = std::string_view(loader).substr(loader.rfind('/') + 1);
  if (loader.empty()) {
    return refused(
        "is linked statically: no agent can be loaded with it. Link it dynamically, or watch it when it runs "
        "(deadheat watch --pid)");
  }
  if (name.starts_with("ld-musl")) {
    return refused(
        "is a program for musl, and the agent is one for glibc. Build it for glibc, or watch it when it runs "
        "(deadheat watch --pid)");
  }
  if (!name.starts_with("ld-linux") && !name.starts_with("ld-2") && name != "ld.so.1" && name != "ld.so") {
    return refused(fmt::format("is started by '{}', which is not glibc's loader: the agent needs that one", loader));
  }
  return {};
}

}  // namespace deadheat
