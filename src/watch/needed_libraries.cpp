// SPDX-License-Identifier: Apache-2.0
#include "watch/needed_libraries.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "image/elf_image.h"

namespace deadheat::watch {
namespace {

constexpr const char* kUsualFolders[] = {
    "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib"};

void replace_all(std::string& text, std::string_view what, std::string_view by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size()) {
    text.replace(at, what.size(), by);
  }
}

// The folders of a search path as written in a file that lies in `origin`.
std::vector<std::string> folders_of(std::string_view list, const std::string& origin) {
  std::vector<std::string> folders;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find_first_of(":;"), list.size());
    std::string folder(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
    for (const auto& [name, value] : {std::pair<std::string, std::string>{"ORIGIN", origin},
                                      {"LIB", "lib/x86_64-linux-gnu"},
                                      {"PLATFORM", "x86_64"}}) {
      replace_all(folder, "${" + name + "}", value);
      replace_all(folder, "$" + name, value);
    }
    if (!folder.empty()) folders.push_back(std::move(folder));
  }
  return folders;
}

std::vector<std::byte> bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

// One loaded file, whose needs are to be met.
struct Loaded {
  std::string folder;
  LibraryNeeds needs;
};

class Search {
 public:
  Search(Loaded program, const std::string& library_path)
      : library_folders_(folders_of(library_path, program.folder)), cache_(bytes_of("/etc/ld.so.cache")) {
    if (program.needs.runpath.empty()) program_folders_ = folders_of(program.needs.rpath, program.folder);
    queue_.push_back(std::move(program));
  }

  NeededLibraries run() && {
    while (!queue_.empty()) {
      const Loaded next = std::move(queue_.front());
      queue_.pop_front();
      for (const std::string& name : next.needs.names) {
        if (!asked_.insert(name).second) continue;
        if (!find(name, next)) found_.missing.push_back(name);
      }
    }
    return std::move(found_);
  }

 private:
  bool find(const std::string& name, const Loaded& loader) {
    if (name.find('/') != std::string::npos) return add(name);
    const bool has_runpath = !loader.needs.runpath.empty();
    if (!has_runpath &&
        (find_in(folders_of(loader.needs.rpath, loader.folder), name) || find_in(program_folders_, name))) {
      return true;
    }
    if (find_in(library_folders_, name)) return true;
    if (has_runpath && find_in(folders_of(loader.needs.runpath, loader.folder), name)) return true;
    const std::string cached = path_in_loader_cache(cache_, name);
    if (!cached.empty() && add(cached)) return true;
    return find_in({std::begin(kUsualFolders), std::end(kUsualFolders)}, name);
  }

  bool find_in(const std::vector<std::string>& folders, const std::string& name) {
    return std::any_of(folders.begin(), folders.end(),
                       [&](const std::string& folder) { return add(folder + "/" + name); });
  }

  // A file for another machine is passed over, as the loader does.
  bool add(const std::string& path) {
    std::error_code error;
    const std::filesystem::path real = std::filesystem::canonical(path, error);
    if (error) return false;
    const auto image = ElfImage::open(real.string());
    if (!image.ok()) return false;
    if (std::find(found_.paths.begin(), found_.paths.end(), real.string()) != found_.paths.end()) return true;
    found_.paths.push_back(real.string());
    queue_.push_back({real.parent_path().string(), image.value().needs()});
    return true;
  }

  std::vector<std::string> library_folders_;
  std::vector<std::string> program_folders_;
  std::vector<std::byte> cache_;
  std::deque<Loaded> queue_;
  std::set<std::string> asked_;
  NeededLibraries found_;
};

}  // namespace

Result<NeededLibraries> needed_libraries(const std::string& program, const std::string& library_path) {
  const auto image = ElfImage::open(program);
  if (!image.ok()) return image.error();
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(program, error);
  if (error) return Error{ErrorCode::kIo, "cannot read '" + program + "': " + error.message()};
  return Search({real.parent_path().string(), image.value().needs()}, library_path).run();
}

// The layout of glibc's own header dl-cache.h; offsets of strings count from the magic.
std::string path_in_loader_cache(std::span<const std::byte> cache, std::string_view name) {
  constexpr std::string_view kMagic = "glibc-ld.so.cache1.1";
  constexpr std::uint32_t kLibraryOfX86 = 0x0303;
  struct Head {
    char magic[20];
    std::uint32_t count, string_bytes;
    std::uint32_t rest[5];
  };
  struct Entry {
    std::uint32_t flags, name, path, system;
    std::uint64_t hardware;
  };
  const std::string_view text(reinterpret_cast<const char*>(cache.data()), cache.size());
  const std::size_t start = text.find(kMagic);
  if (start == std::string_view::npos) return {};
  const std::string_view table = text.substr(start);
  Head head;
  if (table.size() < sizeof head) return {};
  std::memcpy(&head, table.data(), sizeof head);
  const auto string_at = [&](std::uint32_t offset) -> std::string_view {
    if (offset >= table.size()) return {};
    return {table.data() + offset, ::strnlen(table.data() + offset, table.size() - offset)};
  };
  std::string plain;  // the variant for every processor
  for (std::uint32_t index = 0; index < head.count; ++index) {
    const std::size_t at = sizeof head + std::size_t{index} * sizeof(Entry);
    if (at + sizeof(Entry) > table.size()) return plain;
    Entry entry;
    std::memcpy(&entry, table.data() + at, sizeof entry);
    if (entry.flags != kLibraryOfX86 || entry.hardware != 0 || string_at(entry.name) != name) continue;
    if (plain.empty()) plain = string_at(entry.path);
  }
  return plain;
}

}  // namespace deadheat::watch
