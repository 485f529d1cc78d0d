// SPDX-License-Identifier: Apache-2.0
// find_sites(): all sites of a program or library, by decoding its code from one end to the
// other (a linear sweep).
//
// The agent overwrites the first byte of a site, so a site that is no instruction would
// damage the program: constants that hand-written assembly keeps between its functions
// decode well enough to look like sites. (Of libcrypto's code a tenth is no known function;
// swept blindly, it gives 15,000 more sites and 10,000 bytes that do not decode.) So functions
// are taken from the unwind table and the symbols, each is decoded from its own beginning,
// and
//   - where these name at least half of a section, what lies between is left alone;
//   - a function in which anything does not decode has no sites.
// Code of which nobody says anything is swept whole, and bytes that do not decode are
// skipped one by one; there a wrong site is possible, and undecodable_bytes shows it.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "image/elf_image.h"
#include "watch/site_file.h"

namespace deadheat::watch {

struct SweepCounts {
  std::uint64_t code_bytes = 0;
  std::uint64_t instructions = 0;
  std::uint64_t unnamed_bytes = 0;         // left alone, between functions
  std::uint64_t undecodable_bytes = 0;     // skipped
  std::uint64_t distrusted_functions = 0;  // something in them does not decode
  std::uint64_t constants = 0;             // accesses left out: nothing can write there
};

struct FoundSites {
  ModuleSites module;
  SweepCounts counts;
};

// Of the file's own code; atomic operations are marked as far as debug information or
// metadata (atomic_code.h) tell. The module's path has no links. Errors as ElfImage::open().
[[nodiscard]] Result<FoundSites> find_sites(const std::string& path);

// Without debug information, and without a path.
[[nodiscard]] FoundSites find_sites_in(const ElfImage& image);

}  // namespace deadheat::watch
