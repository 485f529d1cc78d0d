// SPDX-License-Identifier: Apache-2.0
// Memory instructions whose places the watched program knows itself, so that the tests of the
// agent need no decoder: each is written in assembly between two labels, and leaves a
// line in a section that the program prints on request.
#pragma once

#include <cstdint>

struct KnownSite {
  std::int32_t begin;  // of the instruction, from this field
  std::uint16_t name;
  std::uint8_t length;
  std::uint8_t base;
  std::uint8_t flags;
  std::uint8_t unused[3];
};

// Names of instructions, for what the tests look at.
enum SiteName : std::uint16_t {
  kOther = 0,
  kRacyLoad = 1,
  kRacyStore = 2,
  kLockedLoad = 3,
  kLockedStore = 4,
  kFlagLoad = 5,
  kFlagStore = 6,
  kPassedLoad = 7,
  kPassedStore = 8,
  kLockedAdd = 9,
};

// `instruction` accesses four bytes at (%rdi).
#define DEADHEAT_WATCHED_SITE(instruction, name, flags) \
  "771: " instruction                                   \
  "\n"                                                  \
  "772:\n"                                              \
  ".pushsection watched_sites, \"a\"\n"                 \
  ".long 771b - .\n"                                    \
  ".short " #name                                       \
  "\n"                                                  \
  ".byte 772b - 771b, 7, " #flags                       \
  "\n"                                                  \
  ".zero 3\n"                                           \
  ".popsection\n"

// flags: 1 reads, 2 writes, 4 atomic, as in watch/site_table.h.
#define DEADHEAT_WATCHED_LOAD(result, pointer, name, flags) \
  __asm__ volatile(DEADHEAT_WATCHED_SITE("movl (%%rdi), %%eax", name, flags) : "=a"(result) : "D"(pointer) : "memory")
#define DEADHEAT_WATCHED_STORE(value, pointer, name, flags) \
  __asm__ volatile(DEADHEAT_WATCHED_SITE("movl %%eax, (%%rdi)", name, flags)::"a"(value), "D"(pointer) : "memory")
#define DEADHEAT_WATCHED_ADD(pointer, name, flags) \
  __asm__ volatile(DEADHEAT_WATCHED_SITE("lock addl $1, (%%rdi)", name, flags)::"D"(pointer) : "memory")
