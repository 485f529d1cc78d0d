// SPDX-License-Identifier: Apache-2.0
#include "runtime/lock_names.h"

#include "runtime/code_names.h"
#include "runtime/heap_table.h"
#include "runtime/origins.h"
#include "runtime/sync_table.h"
#include "runtime/thread_registry.h"

namespace deadheat::runtime {
namespace {

constexpr std::uint64_t kHeap = 1;
constexpr std::uint64_t kStack = 2;
constexpr std::uint64_t kElsewhere = 3;

// Bytes. A larger block is an array, whose locks are all alike.
constexpr std::size_t kLargestObject = 2048;

std::uint64_t name_of_stack(std::uint64_t kind, std::uint32_t stack) {
  constexpr std::uint32_t kCalls = 16;
  Address calls[kCalls];
  const std::uint32_t count = copy_stack(stack, calls, kCalls);
  std::uint64_t name = kind;
  for (std::uint32_t at = 0; at < count; ++at) name = name_of_pair(name, name_of_address(calls[at]));
  return name;
}

// 0: it lies on no stack. `used` are the calls that used it first, 0 if not known.
std::uint64_t name_on_stack(Address lock, std::uint32_t used) {
  SpinHolder hold(registry().lock);
  for (const ThreadState* thread = registry().first(); thread != nullptr; thread = thread->next) {
    if (lock - thread->stack_begin >= thread->stack_size) continue;
    const bool is_main = (thread->info->flags & raw_report::kThreadMain) != 0;
    if (is_main) return used == 0 ? kStack : name_of_stack(kStack, used);
    return name_of_pair(name_of_pair(kStack, thread->schedule.origin), thread->stack_begin + thread->stack_size - lock);
  }
  return 0;
}

std::uint64_t make_name(Address lock, std::uint32_t used) {
  const HeapBlock block = HeapTable::describe(lock);
  if (block.kind == HeapKind::kLive) {
    const Address offset = block.size > kLargestObject ? 0 : lock - block.begin;
    return name_of_pair(name_of_stack(kHeap, block.allocated_stack), offset);
  }
  if (const std::uint64_t name = name_on_stack(lock, used)) return name;
  if (const std::uint64_t name = name_of_address(lock)) return name;
  return kElsewhere;
}

}  // namespace

std::uint64_t name_of_lock(Address lock) {
  std::uint32_t used = 0;
  {
    SpinHolder hold(sync_table().stripe(lock));
    if (const LockObject* object = sync_table().find<LockObject>(lock)) {
      if (object->name != 0) return object->name;
      used = object->created_stack;
    }
  }
  const std::uint64_t name = make_name(lock, used);
  SpinHolder hold(sync_table().stripe(lock));
  if (LockObject* object = sync_table().find<LockObject>(lock)) object->name = name;
  return name;
}

}  // namespace deadheat::runtime
