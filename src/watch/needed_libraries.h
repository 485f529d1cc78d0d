// SPDX-License-Identifier: Apache-2.0
// The libraries that the dynamic loader would load with a program, found without running
// anything of it: DT_NEEDED entries, looked for in the order of ld.so(8): DT_RPATH,
// LD_LIBRARY_PATH, DT_RUNPATH, the loader's cache, the usual folders.
//
// Simpler than the loader: variants for particular processors (glibc-hwcaps), LD_PRELOAD,
// audit modules and dlopen() are not looked at. Where the loader takes another file, the
// agent finds no sites for it and leaves it alone.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace deadheat::watch {

struct NeededLibraries {
  std::vector<std::string> paths;    // without links, in the order of loading
  std::vector<std::string> missing;  // names that lead to no file
};

// `library_path` is the program's LD_LIBRARY_PATH. Errors as ElfImage::open(), of the
// program; a library that cannot be read is missing.
[[nodiscard]] Result<NeededLibraries> needed_libraries(const std::string& program, const std::string& library_path);

// What /etc/ld.so.cache (its bytes) says of a name; empty if nothing.
[[nodiscard]] std::string path_in_loader_cache(std::span<const std::byte> cache, std::string_view name);

}  // namespace deadheat::watch
