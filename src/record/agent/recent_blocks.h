// SPDX-License-Identifier: Apache-2.0
// Blocks of the heap that a thread frees and is given again before anybody else allocates. Most are:
// neither the release nor the new allocation is logged then, and such a pair costs a few nanoseconds.
//
// Why no false report can come of it. An entry of a release or an allocation matters offline where memory goes from
// one thread to another. Here it stays with thread T: what others did to the block in its old life happens before T's
// free (or is a race anyway), and T's own order leads on to the new life. What must be excluded is that another thread
// had the memory in between, as this block or as a part of another. It must have allocated it after T's free and given
// it back before T's malloc; the allocator itself orders those. So whoever logs an allocation first says so in
// `last_allocator`, and T, after its malloc, finds another's name there, or remembers that it took the word back since
// (`turn`).
//
// What is lost: a race of an access with such a free, unless the access also races with the block's next life.
//
// A release is kept in the thread's slot for the block, as a record with its own time, until the block is given
// again or the slot is needed for another; then it goes to the log. Slots are a part of the thread's tail file
// (log_record.h), so a program that is killed leaves them. A new allocation must have the site of the
// old one, and its size up to what the next block's alignment allows, for what is said of the block stays as it was
// logged.
#pragma once

#include <cstddef>
#include <cstdint>

#include "record/agent/log.h"

namespace deadheat::record {

struct RecentBlocks {
  LogRecord* slots = nullptr;  // kRecentBlocks of them
  std::uint32_t turn = 0;      // how often it took `last_allocator` back
  std::uint32_t kept = 0;      // how many allocations needed no entry
};
extern thread_local constinit RecentBlocks recent_blocks
    __attribute__((visibility("hidden"), tls_model("initial-exec")));

// The thread that logged the latest allocation (own_mark); kManyAllocate: threads take turns so often that it does not
// pay.
inline constexpr std::uint32_t kManyAllocate = ~0U;
extern constinit std::uint32_t last_allocator;

// Another thread, or nobody, allocated last.
void take_turn();
// The release in this slot goes to the log; the slot is free then.
void log_slot(LogRecord& slot);
void log_all_slots();

inline constexpr std::size_t kMostRemembered = 0xffff;

inline LogRecord& slot_of(std::uint64_t block) {
  return recent_blocks.slots[((block >> 4U) ^ (block >> 11U)) % kRecentBlocks];
}

// Size, site and turn.
inline std::uint64_t slot_word(std::uint64_t size, const void* code) {
  return size | (number_of(code) & 0xffffffU) << 16U | std::uint64_t{recent_blocks.turn} << 40U;
}

inline bool allocates_alone() { return __atomic_load_n(&last_allocator, __ATOMIC_RELAXED) == own_mark; }

// For every allocation that is logged, before its memory is used.
inline void note_allocation() {
  if (!allocates_alone()) take_turn();
}

// The block was this thread's own until now, and nobody can have had it since. After the allocation. Who has slots has
// a log.
inline bool is_given_again(std::uint64_t block, std::uint64_t size, const void* code) {
  if (recent_blocks.slots == nullptr) return false;
  LogRecord& slot = slot_of(block);
  if (slot.object != block || slot.where == 0 || !allocates_alone()) return false;
  const std::uint64_t old_size = slot.extent & kMostRemembered;
  if (size > old_size || ((size + 7) ^ (old_size + 7)) >= 8 || slot.extent != slot_word(old_size, code)) return false;
  __atomic_store_n(&slot.where, 0U, __ATOMIC_RELAXED);
  ++recent_blocks.kept;
  return true;
}

// The release stays in the block's slot. Before it.
inline bool is_kept(std::uint64_t block, const void* code) {
  if (recent_blocks.slots == nullptr) return false;
  LogRecord& slot = slot_of(block);
  if (slot.object != block || slot.where != 0 || slot.extent >> 40U != recent_blocks.turn) return false;
  if (!allocates_alone()) return false;
  slot.time = time_before();
  // Last: the slot's record is whole then.
  __atomic_store_n(&slot.where, log_where(log_kind(EventKind::kFree), 0, number_of(code)), __ATOMIC_RELEASE);
  return true;
}

void log_new_block(std::uint64_t block, std::uint64_t size, const void* code);
void log_old_block(std::uint64_t block, const void* code);

inline void log_allocation(std::uint64_t block, std::uint64_t size, const void* code) {
  if (!is_given_again(block, size, code)) log_new_block(block, size, code);
}

// How large it was is known offline, by its allocation.
inline void log_release(std::uint64_t block, const void* code) {
  if (!is_kept(block, code)) log_old_block(block, code);
}

}  // namespace deadheat::record
