// SPDX-License-Identifier: Apache-2.0
// Site tables (site_table.h) as files. The command line writes one before the program
// starts; the agent only maps it, so all that it relies on is checked here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "watch/site_table.h"

namespace deadheat::watch {

struct ModuleSites {
  std::string path;  // as /proc/self/maps says it
  std::uint64_t file_size = 0;
  std::vector<Site> sites;  // sorted by offset
};

// kInvalid: a path that is empty or does not fit, sites that parse_site_table() would
// refuse, or too many of them.
[[nodiscard]] Result<std::vector<std::byte>> format_site_table(std::span<const ModuleSites> modules);

// As format_site_table(); kIo if the file cannot be written. Replaces a file that is there.
[[nodiscard]] Status write_site_table(const std::string& path, std::span<const ModuleSites> modules);

// kMalformed: not a site table, too short or too long, or a module or site in it makes no
// sense. kUnsupported: of another version.
[[nodiscard]] Result<std::vector<ModuleSites>> parse_site_table(std::span<const std::byte> bytes);

// As parse_site_table(); kIo if the file cannot be read.
[[nodiscard]] Result<std::vector<ModuleSites>> read_site_table(const std::string& path);

}  // namespace deadheat::watch
