// SPDX-License-Identifier: Apache-2.0
// Between the compiler's hooks and the detector: what a hook calls when its fast
// check has not settled the access.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "model/finding.h"
#include "model/identity.h"
#include "runtime/shadow_memory.h"
#include "runtime/thread_state.h"

namespace deadheat::runtime {

// How an entry of the shadow must be replaced. Only goes up.
enum class UpdateMode : std::uint8_t {
  kAlone,        // one thread, no signal handler: by a store
  kInterrupted,  // a handler may come in between: by a compare-and-swap of this processor
  kShared,       // several threads: by a locked one
};
[[gnu::visibility("hidden")]] extern std::atomic<UpdateMode> update_mode;
void raise_update_mode(UpdateMode mode);

// The thread accessed these bytes of the word like this in this epoch already; the
// epoch is where an entry has it.
[[nodiscard, gnu::always_inline]] inline bool is_settled(const ShadowCell& cell, AccessKind kind,
                                                         std::uint64_t epoch_bits, std::uint64_t mask) {
  const std::uint64_t mask_bits = mask << CellEntry::kMaskShift;
  const std::uint64_t wanted = epoch_bits | mask_bits;
  const std::uint64_t care = CellEntry::care_bits(kind, mask_bits);
  if (((cell.entries[0].load(std::memory_order_relaxed) ^ wanted) & care) == 0) return true;
  return ((cell.entries[1].load(std::memory_order_relaxed) ^ wanted) & care) == 0;
}

// An access of the program's own code, any size and alignment. `flags` are
// raw_report::kAccess...
void check_access(AccessKind kind, Address address, std::size_t size, Address code, std::uint8_t flags);

// The same for the common case: a plain read or write of 1, 2, 4 or 8 bytes. The
// second tier after the hook's own check: first access of the word in this epoch,
// nothing wrong, room in the cell.
template <AccessKind kKind, std::size_t kSize>
void check_first(Address address, Address code);
// The same for 16 bytes, and for an access at any address.
template <AccessKind kKind, std::size_t kSize>
void check_across(Address address, Address code);

// The bytes of [begin, end) in the word.
[[nodiscard]] constexpr ByteMask bytes_in_word(Address word, Address begin, Address end) {
  const std::uint32_t first = begin > word ? static_cast<std::uint32_t>(begin - word) : 0;
  const std::uint32_t last = end < word + 8 ? static_cast<std::uint32_t>(end - word) : 8;
  return static_cast<ByteMask>((0xffU << first) & (0xffU >> (8 - last)));
}

// The access lies in one word, or fills two.
template <std::size_t kSize>
[[nodiscard, gnu::always_inline]] constexpr bool fits_words(Address address) {
  return kSize <= 8 ? (address & 7) + kSize <= 8 : (address & 7) == 0;
}
// Its bytes in a word, if it does.
template <std::size_t kSize>
[[nodiscard, gnu::always_inline]] constexpr ByteMask bytes_of_access(Address address) {
  return kSize < 8 ? static_cast<ByteMask>(((1U << kSize % 8) - 1) << (address & 7)) : ByteMask{0xff};
}

// An access whose origin is known, in the cells whatever else there is. Inside a
// RuntimeScope.
void check_words_as(ThreadState& self, AccessKind kind, Address begin, Address end, OriginId origin);

// The part of check_atomic() that needs to know nothing of what the operation will
// acquire: can be done before it takes its lock. check_atomic() does the rest.
enum class AtomicCheck : std::uint8_t { kAll, kLook, kNothing };
[[nodiscard]] AtomicCheck begin_atomic_check(ThreadState& self, AccessKind kind, Address address, std::size_t size,
                                             Address code);
void finish_atomic_check(AtomicCheck left, ThreadState& self, AccessKind kind, Address address, std::size_t size,
                         Address code);

// The access half of an atomic operation; the caller records the event. Inside a
// RuntimeScope.
void check_atomic(ThreadState& self, AccessKind kind, Address address, std::size_t size, Address code);

}  // namespace deadheat::runtime
