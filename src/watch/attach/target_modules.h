// SPDX-License-Identifier: Apache-2.0
// What a running process has mapped, and what its modules define and call.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "image/elf_image.h"

namespace deadheat::watch {

struct TargetMapping {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  bool is_writable = false;
  bool is_executable = false;
  std::string path;  // "[vdso]", "", or a file as the process sees it
};

// Lowest first. kIo: no such process, or it is somebody else's.
[[nodiscard]] Result<std::vector<TargetMapping>> mappings_of(pid_t process);
// Nullptr if nothing is mapped there.
[[nodiscard]] const TargetMapping* mapping_at(const std::vector<TargetMapping>& mappings, std::uint64_t address);

struct TargetModule {
  std::string path;  // as the process sees it
  std::uint64_t bias = 0;
  ElfImage image;
};

// Files with code, read as the process sees them, also in a container; those that cannot be read are left out.
[[nodiscard]] std::vector<TargetModule> modules_of(pid_t process, const std::vector<TargetMapping>& mappings);

// Functions that a module defines for others, by name, of their newest version: addresses in the file.
[[nodiscard]] std::map<std::string_view, std::uint64_t> defined_functions(const ElfImage& image);

// A word by which a module calls a function of another. The address is the file's.
struct CallWord {
  std::string_view name;
  std::uint64_t address = 0;
  // By calls and jumps, and nothing else: of a word that code loads, the address may be kept and called when the agent
  // has gone.
  bool is_only_called = true;
};

[[nodiscard]] std::vector<CallWord> call_words(const ElfImage& image);

}  // namespace deadheat::watch
