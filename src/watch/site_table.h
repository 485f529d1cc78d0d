// SPDX-License-Identifier: Apache-2.0
// Sites: the memory instructions of a module that watching may sample, found by decoding
// its code before the program runs (find_sites.h) and handed to the agent in a file that
// it maps. The agent has no decoder: all that it takes to compute the address of an access
// from the registers of a trap stands here.
//
//   header, then modules, then the sites of all modules, each module's sorted by offset
#pragma once

#include <cstdint>

namespace deadheat::watch {

inline constexpr std::uint32_t kSiteTableMagic = 0x54574844;  // "DHWT"
inline constexpr std::uint32_t kSiteTableVersion = 1;

// As the processor numbers them: rax rcx rdx rbx rsp rbp rsi rdi r8..r15.
inline constexpr std::uint8_t kNoRegister = 0xff;
inline constexpr std::uint8_t kInstructionPointer = 0xfe;  // of the next instruction

inline constexpr std::uint8_t kReads = 1;
inline constexpr std::uint8_t kWrites = 2;
inline constexpr std::uint8_t kAtomicSite = 4;  // lock prefix, xchg: never sampled, but may trip a watch
inline constexpr std::uint8_t kStackSite = 8;   // relative to the stack pointer: likewise

// The address is base + index * scale + displacement.
struct Site {
  std::uint32_t offset = 0;  // of the instruction, from the module's lowest address
  std::int32_t displacement = 0;
  std::uint8_t base = kNoRegister;
  std::uint8_t index = kNoRegister;
  std::uint8_t scale = 1;
  std::uint8_t length = 0;  // of the instruction
  std::uint8_t size = 0;    // of the access, in bytes
  std::uint8_t flags = 0;
  std::uint8_t first_byte = 0;  // of the instruction, for when it is patched
  std::uint8_t reserved = 0;
};
static_assert(sizeof(Site) == 16);

struct SiteModule {
  char path[240] = {};          // of the file, as /proc/self/maps says it
  std::uint64_t file_size = 0;  // that was decoded: another file is left alone
  std::uint32_t first_site = 0;
  std::uint32_t site_count = 0;
};
static_assert(sizeof(SiteModule) == 256);

struct SiteTableHeader {
  std::uint32_t magic = kSiteTableMagic;
  std::uint32_t version = kSiteTableVersion;
  std::uint32_t module_count = 0;
  std::uint32_t site_count = 0;
};

}  // namespace deadheat::watch
