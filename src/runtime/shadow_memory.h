// SPDX-License-Identifier: Apache-2.0
// Shadow memory: the direct-mapped cells of the program's memory.
//
// Each eight-byte word of the program has a cell of 16 bytes at
//
//   ((address & ~7) * 2 mod 2^47) ^ key
//
// Doubling folds the address space onto itself (a word and the word 2^46 further
// share a cell), the key moves the result to where the program is not. The
// program lives in three places: low (executables that are not PIE), around
// 0x55.. (PIE and brk) and below 0x7f.. (mmap, stacks); the kernel moves the
// last two by up to 2^44 bytes. At start the key is chosen for where they are
// this time, in steps of 2^40: of the 128 keys several fit even with 32 bits of
// randomisation, where no constant key exists. No re-exec is ever needed.
//
// The memory is reserved without being committed; a page is paid for when its
// first cell changes. An unused stretch of the address space that the program
// maps later gets its cells then (cover()). Where that is impossible, the
// memory has no cells and is not checked, which is counted.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/cell_entry.h"
#include "model/identity.h"

namespace deadheat::runtime {

struct alignas(16) ShadowCell {
  // Written by compare-and-swap by any thread; see on_access.cpp. The second may
  // be a link to further entries (cell_blocks.h).
  std::atomic<std::uint64_t> entries[2];
};
static_assert(sizeof(ShadowCell) == 16);

[[gnu::visibility("hidden")]] extern std::uint64_t shadow_key;  // written once, at start

inline constexpr Address kAddressEnd = Address{1} << 47;

[[nodiscard]] inline ShadowCell* cell_of(Address address) {
  return reinterpret_cast<ShadowCell*>((((address & ~Address{7}) << 1) & ~kAddressEnd) ^ shadow_key);
}

// The same as ((address * 2) & kCellMask) ^ shadow_key, for ThreadLocal.
inline constexpr Address kCellMask = (kAddressEnd - 1) & ~Address{sizeof(ShadowCell) - 1};

enum class ShadowState : std::uint8_t { kReady, kNoRoom };

// Chooses the key and reserves the cells. kNoRoom: nothing can be checked.
ShadowState map_shadow();

// Whether all of the range has cells. Two loads.
[[nodiscard]] bool has_shadow(Address begin, std::size_t size);

// Makes sure that the range has cells; false if that is impossible.
bool cover(Address begin, std::size_t size);

// Forgets the history of all words that the range touches.
void clear_shadow(Address begin, std::size_t size);
// The same for memory that goes away: whole pages of cells go back to the system.
void give_back_shadow(Address begin, std::size_t size);

// Calls visit for the parts of the range that may have a history: mappings and
// large blocks are reserved far larger than they are used.
void for_each_used_part(Address begin, std::size_t size, void (*visit)(Address first, Address last, void* context),
                        void* context);

// Calls visit for every cell in use, in any order: those of all mappings of the
// program whose pages of cells were ever written. Slow; for the sweep.
void for_each_cell(void (*visit)(ShadowCell& cell, void* context), void* context);

// Resident bytes of shadow, by asking the system. Slow.
[[nodiscard]] std::size_t shadow_resident();

// Gives all cells back; the history of the whole program is lost.
void drop_all_shadow();

}  // namespace deadheat::runtime
