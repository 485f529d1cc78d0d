// SPDX-License-Identifier: Apache-2.0
#include "record/agent/recent_blocks.h"

namespace deadheat::record {

thread_local constinit RecentBlocks recent_blocks;
DEADHEAT_TOGETHER constinit std::uint32_t last_allocator = 0;

namespace {

// Of a thread's turns, before it gives up if it kept less than one allocation for each.
constexpr std::uint32_t kTrials = 4096;
constexpr std::uint32_t kMostTurns = (1U << 24U) - 1;  // slot_word() has room for so many

}  // namespace

// A store that another thread's overwrites is no loss: this thread's turn has changed all the same, and
// what it frees from now on the other can only have after seeing the new word.
void take_turn() {
  if (__atomic_load_n(&last_allocator, __ATOMIC_RELAXED) == kManyAllocate) return;
  RecentBlocks& self = recent_blocks;
  const bool is_worth_it = self.turn < kTrials || (self.kept > self.turn && self.turn < kMostTurns);
  if (is_worth_it) ++self.turn;
  __atomic_store_n(&last_allocator, is_worth_it ? own_mark : kManyAllocate, __ATOMIC_RELAXED);
}

void log_slot(LogRecord& slot) {
  append(log_kind(EventKind::kFree), 0, slot.object, 0, reinterpret_cast<const void*>(slot.where & 0xffffffffffffULL),
         slot.time);
  __atomic_store_n(&slot.where, 0U, __ATOMIC_RELAXED);
}

void log_new_block(std::uint64_t block, std::uint64_t size, const void* code) {
  if (!has_log()) return;
  note_allocation();
  append(log_kind(EventKind::kAlloc), 0, block, size, code, time_after());
  if (recent_blocks.slots == nullptr) return;
  LogRecord& slot = slot_of(block);
  if (size > kMostRemembered && slot.object != block) return;
  if (slot.where != 0) log_slot(slot);
  slot.object = size > kMostRemembered ? 0 : block;
  slot.extent = slot_word(size, code);
}

void log_old_block(std::uint64_t block, const void* code) {
  if (!has_log()) return;
  if (recent_blocks.slots != nullptr) {
    LogRecord& slot = slot_of(block);
    if (slot.object == block) {
      if (slot.where != 0) log_slot(slot);
      slot.object = 0;
    }
  }
  append(log_kind(EventKind::kFree), 0, block, 0, code, time_before());
}

void log_all_slots() {
  if (recent_blocks.slots == nullptr) return;
  for (std::size_t at = 0; at < kRecentBlocks; ++at) {
    if (recent_blocks.slots[at].where != 0) log_slot(recent_blocks.slots[at]);
  }
  recent_blocks.slots = nullptr;
}

}  // namespace deadheat::record
