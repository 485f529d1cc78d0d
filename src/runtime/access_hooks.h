// SPDX-License-Identifier: Apache-2.0
// The body of a hook: the fast check, and what it calls if that settles nothing.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/access_check.h"
#include "runtime/shadow_memory.h"
#include "runtime/thread_state.h"

namespace deadheat::runtime {

template <AccessKind kKind, std::size_t kSize>
[[gnu::always_inline]] inline void access(const void* pointer, Address code, std::uint8_t flags = 0) {
  static_assert(kSize <= 8);
  const auto address = reinterpret_cast<Address>(pointer);
  const bool is_aligned = kSize == 1 || (address & (kSize - 1)) == 0;
  constexpr std::uint64_t kBytes = (std::uint64_t{1} << kSize) - 1;
  if (is_aligned && is_settled(*cell_of(address), kKind, current.epoch_bits,
                               kSize == 8 ? kBytes : kBytes << (address & 7))) [[likely]]
    return;
  if (flags == 0) return check_first<kKind, kSize>(address, code);
  check_access(kKind, address, kSize, code, flags);
}

// At any address, and any size: the bytes of up to three words.
template <AccessKind kKind, std::size_t kSize>
[[gnu::always_inline]] inline void access_across(const void* pointer, Address code, std::uint8_t flags = 0) {
  const auto address = reinterpret_cast<Address>(pointer);
  const ShadowCell* cell = cell_of(address);
  const std::uint64_t mask = ((std::uint64_t{1} << kSize) - 1) << (address & 7);
  bool settled = is_settled(cell[0], kKind, current.epoch_bits, mask & 0xff);
  if (settled && mask > 0xff) settled = is_settled(cell[1], kKind, current.epoch_bits, mask >> 8 & 0xff);
  if (kSize > 8 && settled && mask > 0xffff) settled = is_settled(cell[2], kKind, current.epoch_bits, mask >> 16);
  if (settled) [[likely]]
    return;
  if (flags == 0) return check_across<kKind, kSize>(address, code);
  check_access(kKind, address, kSize, code, flags);
}

}  // namespace deadheat::runtime
