// SPDX-License-Identifier: Apache-2.0
#include "runtime/on_memory.h"

#include <sys/syscall.h>

#include "runtime/counters.h"
#include "runtime/footprints.h"
#include "runtime/foreign_code.h"
#include "runtime/hand_off.h"
#include "runtime/memory_limit.h"
#include "runtime/modules.h"
#include "runtime/on_access.h"
#include "runtime/races.h"
#include "runtime/record.h"
#include "runtime/sampling.h"
#include "runtime/shadow_memory.h"
#include "runtime/shadow_pages.h"
#include "runtime/slim_regions.h"
#include "runtime/start.h"
#include "runtime/sync_table.h"
#include "runtime/system.h"
#include "runtime/thread_registry.h"

namespace deadheat::runtime {
namespace {

bool is_off() { return detection_is_off.load(std::memory_order_relaxed); }

void forget(ThreadState& self, Address begin, std::size_t size, Address code) {
  // What the thread has in hand may be of older blocks in the same pages.
  if (size >= kSmallestRegion) settle_footprints(self);
  const RecordedStep step(self, events::on_range(EventKind::kAlloc, self.clock.id(), begin, size), code);
  make_region(begin, size);
  clear_shadow(begin, size);
}

// The event of memory that begins anew with all that was in it forgotten.
Event renewal(const ThreadState& self, Address begin, std::size_t size) {
  Event event = events::on_range(EventKind::kAlloc, self.clock.id(), begin, size);
  event.depth = 1;
  return event;
}

// Like a free of the whole range, but only of the parts that have a history:
// mappings are reserved far larger than they are used.
void check_mapped_range(ThreadState& self, Address begin, std::size_t size, Address code) {
  struct Check {
    ThreadState& self;
    Address code;
  } check{self, code};
  const auto free = [](Address first, Address last, void* context) {
    const auto& [thread, where] = *static_cast<Check*>(context);
    on_range(thread, AccessKind::kFree, first, last - first, where);
  };
  for_each_in_regions(begin, size, free, &check);
  for_each_used_part(
      begin, size,
      [](Address first, Address last, void* context) {
        const auto& [thread, where] = *static_cast<Check*>(context);
        if (region_at(first) == RegionId::kNone) on_range(thread, AccessKind::kFree, first, last - first, where);
      },
      &check);
}

}  // namespace

void on_allocated(ThreadState& self, Address block, std::size_t size, Address code) {
  if (is_off() || size == 0 || !has_shadow(block, size)) return;
  // Nothing is recorded, and of what will be nothing can be older than this block.
  if (peek(current.runs_unchecked) != 0) return;
  RuntimeScope scope;
  const SamplingEvent event(self);
  if (samples && !may_have_records(block, size)) return;
  forget(self, block, size, code);
  count_allocation(size);
}

void on_allocated_inside(Address block, std::size_t size) {
  if (is_off() || size == 0 || current.state == nullptr) return;
  forget(*current.state, block, size, 0);
}

void on_freeing(ThreadState& self, Address block, std::size_t size, Address code) {
  if (is_off() || size == 0) return;
  if (peek(current.runs_unchecked) != 0) {
    RuntimeScope scope;
    ++current.forgotten;
    sync_table().erase_range(block, size);
    return forget_benign_ranges(block, size);
  }
  RuntimeScope scope;
  const SamplingEvent event(self);
  if (size >= kSmallestRegion) settle_footprints(self);
  // Another thread may get the memory, and hand it back in the same epoch of this one.
  ++current.forgotten;
  const RecordingHold recorded;
  on_range(self, AccessKind::kFree, block, size, code);
  if (self.ignore.ignores(AccessKind::kFree)) recorded.write(renewal(self, block, size), code);
  sync_table().erase_range(block, size);
  forget_benign_ranges(block, size);
}

void on_mapped(ThreadState& self, Address begin, std::size_t size, Address code) {
  if (is_off() || size == 0) return;
  RuntimeScope scope;
  if (!cover(begin, size)) return count_loss(Loss::kNoShadow);
  forget(self, begin, size, code);
}

void on_unmapping(ThreadState& self, Address begin, std::size_t size, Address code) {
  if (is_off() || size == 0 || !has_shadow(begin, size)) return;
  RuntimeScope scope;
  const SamplingEvent event(self);
  settle_footprints(self);
  const RecordingHold recorded;
  check_mapped_range(self, begin, size, code);
  recorded.write(renewal(self, begin, size), code);
  sync_table().erase_range(begin, size);
  forget_benign_ranges(begin, size);
  end_regions(begin, size);
  give_back_shadow(begin, size);
}

void on_remapping(ThreadState& self) {
  if (is_off()) return;
  RuntimeScope scope;
  settle_footprints(self);
}

void on_remapped(ThreadState& self, Address from, std::size_t old_size, Address to, std::size_t new_size,
                 Address code) {
  if (is_off()) return;
  if (from == to) {
    if (new_size > old_size) on_mapped(self, to + old_size, new_size - old_size, code);
    return;
  }
  on_mapped(self, to, new_size, code);
}

void forget_memory(ThreadState& self, Address begin, std::size_t size) {
  if (size == 0) return;
  RuntimeScope scope;
  const RecordedStep step(self, renewal(self, begin, size), 0);
  sync_table().erase_range(begin, size);
  clear_shadow(begin, size);
}

void on_modules_changed(ThreadState& /*self*/) {
  if (is_off()) return;
  RuntimeScope scope;
  note_foreign_code();
  note_modules([](Address begin, Address end) { forget_memory(*current.state, begin, end - begin); });
  if (has_listener()) send_modules();
}

}  // namespace deadheat::runtime
