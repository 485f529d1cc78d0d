// SPDX-License-Identifier: Apache-2.0
#include "runtime/on_memory.h"

#include <sys/syscall.h>

#include "runtime/counters.h"
#include "runtime/hand_off.h"
#include "runtime/memory_limit.h"
#include "runtime/modules.h"
#include "runtime/on_access.h"
#include "runtime/races.h"
#include "runtime/record.h"
#include "runtime/shadow_memory.h"
#include "runtime/start.h"
#include "runtime/sync_table.h"
#include "runtime/system.h"
#include "runtime/thread_registry.h"

namespace deadheat::runtime {
namespace {

bool is_off() { return detection_is_off.load(std::memory_order_relaxed); }

void forget(ThreadState& self, Address begin, std::size_t size, Address code) {
  const RecordedStep step(self, events::on_range(EventKind::kAlloc, self.clock.id(), begin, size), code);
  clear_shadow(begin, size);
}

// Like a free of the whole range, but only of the parts that have a history:
// mappings are reserved far larger than they are used.
void check_mapped_range(ThreadState& self, Address begin, std::size_t size, Address code) {
  struct Check {
    ThreadState& self;
    Address code;
  } check{self, code};
  for_each_used_part(
      begin, size,
      [](Address first, Address last, void* context) {
        const auto& [thread, where] = *static_cast<Check*>(context);
        on_range(thread, AccessKind::kFree, first, last - first, where);
      },
      &check);
}

}  // namespace

void on_allocated(ThreadState& self, Address block, std::size_t size, Address code) {
  if (is_off() || size == 0 || !has_shadow(block, size)) return;
  RuntimeScope scope;
  forget(self, block, size, code);
  count_allocation(size);
}

void on_allocated_inside(Address block, std::size_t size) {
  if (is_off() || size == 0 || current.state == nullptr) return;
  clear_shadow(block, size);
}

void on_freeing(ThreadState& self, Address block, std::size_t size, Address code) {
  if (is_off() || size == 0) return;
  RuntimeScope scope;
  on_range(self, AccessKind::kFree, block, size, code);
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
  check_mapped_range(self, begin, size, code);
  sync_table().erase_range(begin, size);
  forget_benign_ranges(begin, size);
  give_back_shadow(begin, size);
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

void on_modules_changed(ThreadState& /*self*/) {
  if (is_off()) return;
  RuntimeScope scope;
  forget_unloaded_modules([](Address begin, Address end) {
    sync_table().erase_range(begin, end - begin);
    clear_shadow(begin, end - begin);
  });
  if (has_listener()) send_modules();
}

}  // namespace deadheat::runtime
