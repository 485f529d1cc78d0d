// SPDX-License-Identifier: Apache-2.0
// The protocol of on_access.cpp where one entry of the cell is replaced and the other
// needs no more than a look: publish, then see whether the other has changed.
// Needs no stack frame, and no scope: it touches none of the thread's tables.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/cell_rules.h"
#include "runtime/cell_chains.h"
#include "runtime/origins.h"
#include "runtime/shadow_memory.h"
#include "runtime/thread_registry.h"

namespace deadheat::runtime {

// After the own entry was published: another has changed meanwhile. Looks at all of
// them for races.
[[gnu::noinline]] void look_at_changed(Address word, CellEntry own);

// The entry with the own access of the same epoch and kind merged into it; 0 when
// the combination of the origins was not used lately.
[[gnu::always_inline]] inline std::uint64_t merged_quickly(std::uint64_t entry, CellEntry own) {
  OriginId origin = own.origin();
  const OriginId earlier = CellEntry::from_bits(entry).origin();
  if (earlier != origin) {
    origin = cached_combination(earlier, origin, own.mask());
    if (origin == OriginId::kUnknown) return 0;
  }
  return ((entry | own.bits()) & ~std::uint64_t{CellEntry::kMaxOrigin}) | raw(origin);
}

enum class Settled : std::uint8_t { kNo, kYes, kOtherChanged };

// Does what the plan says with a cell that had these entries.
[[gnu::always_inline]] inline Settled carry_out(QuickPlan plan, ShadowCell& cell, std::uint64_t first,
                                                std::uint64_t second, CellEntry own) {
  if (plan == QuickPlan::kAsk) return Settled::kNo;
  const bool takes_second = plan >= QuickPlan::kSecond;
  const bool is_merged = plan == QuickPlan::kFirstMerged || plan == QuickPlan::kSecondMerged;
  const std::uint64_t old_value = takes_second ? second : first;
  const std::uint64_t new_value = is_merged ? merged_quickly(old_value, own) : own.bits();
  if (new_value == 0 || !replace_entry(cell.entries[takes_second ? 1 : 0], old_value, new_value)) return Settled::kNo;
  const std::uint64_t other = cell.entries[takes_second ? 0 : 1].load(std::memory_order_seq_cst);
  return other == (takes_second ? first : second) ? Settled::kYes : Settled::kOtherChanged;
}

// The cases of next_in_loop. Needs no stack frame, and no scope: it touches none of
// the thread's tables.
template <AccessKind kKind>
[[gnu::always_inline]] inline Settled settle_in_loop(ShadowCell& cell, CellEntry own) {
  const std::uint64_t first = cell.entries[0].load(std::memory_order_acquire);
  const std::uint64_t second = cell.entries[1].load(std::memory_order_acquire);
  const QuickPlan plan = next_in_loop<kKind>(CellEntry::from_bits(first), CellEntry::from_bits(second), own);
  return carry_out(plan, cell, first, second, own);
}

// The other cases in which neither entry races with the access, too, and by a store: what the cell is to have, whose
// entries were seen to be these, and which the thread has for itself (BulkGranule in shadow_pages.h). False when they
// do not settle it.
template <AccessKind kKind>
[[gnu::always_inline]] inline bool settle_by_store(std::uint64_t (&entries)[2], CellEntry own, const ThreadView& view) {
  const std::uint64_t first = entries[0];
  const std::uint64_t second = entries[1];
  if (is_link(second)) return false;
  QuickPlan plan = next_in_loop<kKind>(CellEntry::from_bits(first), CellEntry::from_bits(second), own);
  if (plan == QuickPlan::kAsk) {
    plan = quick_plan<kKind>(CellEntry::from_bits(first), CellEntry::from_bits(second), own, view);
  }
  if (plan == QuickPlan::kAsk) return false;
  const bool takes_second = plan >= QuickPlan::kSecond;
  const bool is_merged = plan == QuickPlan::kFirstMerged || plan == QuickPlan::kSecondMerged;
  const std::uint64_t value = is_merged ? merged_quickly(takes_second ? second : first, own) : own.bits();
  if (value == 0) return false;
  entries[takes_second ? 1 : 0] = value;
  return true;
}

}  // namespace deadheat::runtime
