// SPDX-License-Identifier: Apache-2.0
// Real instructions, for tests that execute them: sites of this test and of libraries that
// most systems have. Half are drawn evenly; for the other half an opcode that is seldom
// counts as much as mov.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/random.h"
#include "watch/find_sites.h"
#include "watch/site_address.h"

namespace deadheat::watch {

inline constexpr std::uint64_t kPage = 4096;

struct SiteSample {
  std::string file;
  Site site;
  std::vector<std::byte> code;
};

inline void PrintTo(const SiteSample& sample, std::ostream* out) {
  *out << sample.file << " at 0x" << std::hex << sample.site.offset << std::dec << ":";
  char text[8];
  for (const std::byte byte : sample.code) {
    std::snprintf(text, sizeof text, " %02x", std::to_integer<unsigned>(byte));
    *out << text;
  }
}

inline constexpr const char* kSampledFiles[] = {
    "/proc/self/exe", "/usr/lib/x86_64-linux-gnu/libstdc++.so.6", "/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
    "/usr/lib/x86_64-linux-gnu/libm.so.6", "/usr/lib/x86_64-linux-gnu/libc.so.6"};

// All sites of a file; none if it is not here.
inline std::vector<SiteSample> all_samples(const std::string& file) {
  std::vector<SiteSample> samples;
  const auto image = ElfImage::open(file);
  if (!image.ok()) return samples;
  const FoundSites found = find_sites_in(image.value());
  for (const Site& site : found.module.sites) {
    const std::uint64_t address = image.value().lowest_address() + site.offset;
    for (const PlacedBytes& code : image.value().code()) {
      if (address < code.address || address >= code.address + code.bytes.size()) continue;
      const auto bytes = code.bytes.subspan(address - code.address, site.length);
      samples.push_back({file, site, {bytes.begin(), bytes.end()}});
    }
  }
  return samples;
}

// AVX and AVX-512: in 64-bit code these bytes begin nothing else.
inline bool is_avx(const SiteSample& sample) {
  const int first = std::to_integer<int>(sample.code[0]);
  return first == 0xc4 || first == 0xc5 || first == 0x62;
}

// Prefixes and the first bytes of the opcode: enough to tell most kinds apart.
inline std::vector<std::byte> kind_of(const SiteSample& sample) {
  std::vector<std::byte> kind = sample.code;
  kind.resize(std::min<std::size_t>(kind.size(), is_avx(sample) ? 4 : 3));
  return kind;
}

inline std::vector<SiteSample> draw(const std::vector<SiteSample>& all, std::size_t count, Random& random) {
  std::map<std::vector<std::byte>, std::vector<const SiteSample*>> kinds;
  for (const SiteSample& sample : all) kinds[kind_of(sample)].push_back(&sample);
  std::vector<const std::vector<const SiteSample*>*> groups;
  for (const auto& [kind, samples] : kinds) groups.push_back(&samples);
  std::vector<SiteSample> drawn;
  for (std::size_t index = 0; index < count && !all.empty(); ++index) {
    const auto& group = *groups[random.below(groups.size())];
    drawn.push_back(index % 2 == 0 ? all[random.below(all.size())] : *group[random.below(group.size())]);
  }
  return drawn;
}

// DEADHEAT_SEED repeats a run.
inline std::uint64_t seed_of_this_run() {
  const char* given = std::getenv("DEADHEAT_SEED");
  const std::uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 0) : 1;
  std::printf("DEADHEAT_SEED=%llu\n", static_cast<unsigned long long>(seed));
  return seed;
}

// Registers with which the access is at `address`; none if no registers lead there. The
// other registers are random.
inline std::optional<Registers> registers_for(const Site& site, std::uint64_t address, std::uint64_t code,
                                              Random& random) {
  Registers registers;
  registers.instruction_pointer = code;
  for (std::uint64_t& value : registers.general) value = random.next();
  const std::uint64_t off = address - address_of(site, registers);
  if (site.base < 16 && site.base != site.index) {
    registers.general[site.base] += off;
  } else if (site.index != kNoRegister) {
    const std::uint64_t factor = site.scale + (site.base == site.index ? 1U : 0U);
    registers.general[site.index] = 0;
    registers.general[site.index] = (address - address_of(site, registers)) / factor;
  } else if (site.base == kInstructionPointer) {
    registers.instruction_pointer += off;
  }
  if (address_of(site, registers) != address) return std::nullopt;
  return registers;
}

}  // namespace deadheat::watch
