// SPDX-License-Identifier: Apache-2.0
// The body of a hook: the fast check, and what it calls if that settles nothing.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/access_check.h"
#include "runtime/sampling.h"
#include "runtime/shadow_memory.h"
#include "runtime/thread_state.h"

namespace deadheat::runtime {

// The cell that the thread is to look at (ThreadLocal::cell_mask).
[[nodiscard, gnu::always_inline]] inline const ShadowCell* cell_to_check(Address address) {
  return reinterpret_cast<const ShadowCell*>(((address * 2) & current.cell_mask) ^
                                             reinterpret_cast<Address>(current.cell_key));
}

// The thread accessed these bytes of the word like this in this epoch already; or it
// does not sample, and nobody else has left a record.
[[nodiscard, gnu::always_inline]] inline bool passes(const ShadowCell& cell, AccessKind kind, std::uint64_t mask) {
  const std::uint64_t epoch_bits = current.epoch_bits;
  const std::uint64_t mask_bits = mask << CellEntry::kMaskShift;
  const std::uint64_t wanted = epoch_bits ^ mask_bits;
  const std::uint64_t care = CellEntry::care_bits(kind, mask_bits);
  if (((cell.entries[0].load(std::memory_order_relaxed) ^ wanted) & care) == 0) return true;
  if (((cell.entries[1].load(std::memory_order_relaxed) ^ wanted) & care) != 0) return false;
  return epoch_bits != kNoRecord;  // only the first entry says that there is none
}

template <AccessKind kKind, std::size_t kSize>
[[gnu::always_inline]] inline void access(const void* pointer, Address code, std::uint8_t flags = 0) {
  static_assert(kSize <= 8);
  const auto address = reinterpret_cast<Address>(pointer);
  const bool is_aligned = kSize == 1 || (address & (kSize - 1)) == 0;
  constexpr std::uint64_t kBytes = (std::uint64_t{1} << kSize) - 1;
  if (is_aligned && passes(*cell_to_check(address), kKind, kSize == 8 ? kBytes : kBytes << (address & 7))) [[likely]]
    return;
  if (flags == 0) return check_first<kKind, kSize>(address, code);
  check_access(kKind, address, kSize, code, flags);
}

// At any address, and any size: the bytes of up to three words.
template <AccessKind kKind, std::size_t kSize>
[[gnu::always_inline]] inline void access_across(const void* pointer, Address code, std::uint8_t flags = 0) {
  const auto address = reinterpret_cast<Address>(pointer);
  const ShadowCell* cell = cell_to_check(address);
  const std::uint64_t mask = ((std::uint64_t{1} << kSize) - 1) << (address & 7);
  bool settled = passes(cell[0], kKind, mask & 0xff);
  if (settled && mask > 0xff) settled = passes(cell[1], kKind, mask >> 8 & 0xff);
  if (kSize > 8 && settled && mask > 0xffff) settled = passes(cell[2], kKind, mask >> 16);
  if (settled) [[likely]]
    return;
  if (flags == 0) return check_across<kKind, kSize>(address, code);
  check_access(kKind, address, kSize, code, flags);
}

}  // namespace deadheat::runtime
