// SPDX-License-Identifier: Apache-2.0
// The order that oneTBB makes: from spawning a task to its execution, and from what tasks do to who waits for them.
// That covers parallel_for and its relatives, task_group, flow graphs, and std::execution::par, which is made of them.
//
// Headers do by atomics, which are seen, what tasks tell each other and who waits; that the waiting thread looks at
// the counter happens in the library, so the wrapper looks again. A task is an object whose execute() the
// library calls by its table of virtual functions. While the task waits to be executed it has a copy of that table
// with a function of ours in it, which puts the table back, takes what was given, and calls the program's.
//
// The memory of tasks is reused by the library without the heap knowing.
//
// Not known: parallel_pipeline, task_arena::execute where another thread lends itself, resumable tasks.
#include "base/flat_map.h"
#include "base/immortal.h"
#include "runtime/intercept/foreign_calls.h"
#include "runtime/on_memory.h"
#include "runtime/page_source.h"
#include "runtime/system.h"

extern "C" std::uint64_t __tsan_atomic64_load(const volatile std::uint64_t* at, int order);

namespace deadheat::runtime {
namespace {

using Task = std::uint64_t*;  // begins with the address of its table
using Execute = void*(Task task, void* data);

// Two words in front of a table, then two destructors, execute and cancel.
constexpr int kBefore = 2;
constexpr int kExecute = 2;
constexpr int kCancel = 3;
constexpr int kFunctions = 8;  // those that a derived class may add come along

struct Table {
  std::uint64_t original;
  std::uint64_t before[kBefore];
  std::uint64_t functions[kFunctions];
};

SpinLock lock;  // a leaf
constinit Immortal<FlatMap<Table*, PageSource>> tables;

Table* table_of(Task task) { return reinterpret_cast<Table*>(*task - __builtin_offsetof(Table, functions)); }

// Puts the original table back.
const std::uint64_t* begin_task(Task task) {
  const std::uint64_t original = table_of(task)->original;
  *task = original;
  ForeignOrder(0).take(address_of(task));
  return reinterpret_cast<const std::uint64_t*>(original);
}
void* execute_task(Task task, void* data) { return reinterpret_cast<Execute*>(begin_task(task)[kExecute])(task, data); }
void* cancel_task(Task task, void* data) { return reinterpret_cast<Execute*>(begin_task(task)[kCancel])(task, data); }

bool is_ours(const std::uint64_t* functions) { return functions[kExecute] == reinterpret_cast<Address>(&execute_task); }

bool is_copy(const Table& table, const std::uint64_t* functions) {
  for (int index = 0; index < kFunctions; ++index) {
    if (index != kExecute && index != kCancel && table.functions[index] != functions[index]) return false;
  }
  return true;
}

// Tables stay for good: there are as many as the program has kinds of tasks.
Table* make_table(std::uint64_t original) {
  const auto* const functions = reinterpret_cast<const std::uint64_t*>(original);
  const RuntimeScope scope;
  SpinHolder hold(lock);
  Table*& known = (*tables)[original];
  if (known != nullptr && is_copy(*known, functions)) return known;
  void* const memory = PageSource::try_allocate(sizeof(Table));
  if (memory == nullptr) return nullptr;
  auto* const table = ::new (memory) Table{};
  table->original = original;
  for (int index = 0; index < kBefore; ++index) table->before[index] = functions[index - kBefore];
  for (int index = 0; index < kFunctions; ++index) table->functions[index] = functions[index];
  table->functions[kExecute] = reinterpret_cast<Address>(&execute_task);
  table->functions[kCancel] = reinterpret_cast<Address>(&cancel_task);
  return known = table;
}

// The task is about to be handed to the library.
void hand_over(std::uint64_t address, Address code) {
  const Task task = reinterpret_cast<Task>(address);
  if (!is_observing() || is_ours(reinterpret_cast<const std::uint64_t*>(*task))) return;
  Table* const table = make_table(*task);
  if (table == nullptr) return;
  ForeignOrder(code).give(address);
  *task = reinterpret_cast<Address>(table->functions);
}

// A wait is over when the second word of what is waited for is 0.
void see_end(std::uint64_t waited_for) {
  if (is_observing()) __tsan_atomic64_load(reinterpret_cast<std::uint64_t*>(waited_for) + 1, __ATOMIC_ACQUIRE);
}

void begin_anew(std::uint64_t memory, std::uint64_t size) {
  if (memory == 0 || !is_observing()) return;
  ThreadState& thread = self();
  const RuntimeScope scope;
  forget_memory(thread, memory, size);
}

}  // namespace

void unlock_tbb_in_child() { lock.reset(); }

}  // namespace deadheat::runtime

using namespace deadheat;
using namespace deadheat::runtime;

#define TBB(name, before, after) DEADHEAT_FOREIGN("libtbb", _ZN3tbb6detail2r1##name, before, after)

TBB(5spawnERNS0_2d14taskERNS2_18task_group_contextE, hand_over(a, DEADHEAT_CALLER), )
TBB(5spawnERNS0_2d14taskERNS2_18task_group_contextEt, hand_over(a, DEADHEAT_CALLER), )
TBB(6submitERNS0_2d14taskERNS2_18task_group_contextEPNS1_5arenaEm, hand_over(a, DEADHEAT_CALLER), )
TBB(7enqueueERNS0_2d14taskEPNS2_15task_arena_baseE, hand_over(a, DEADHEAT_CALLER), )
TBB(7enqueueERNS0_2d14taskERNS2_18task_group_contextEPNS2_15task_arena_baseE, hand_over(a, DEADHEAT_CALLER), )
TBB(16execute_and_waitERNS0_2d14taskERNS2_18task_group_contextERNS2_12wait_contextES6_, , see_end(c))
TBB(4waitERNS0_2d112wait_contextERNS2_18task_group_contextE, , see_end(a))
TBB(8allocateERPNS0_2d117small_object_poolEm, , begin_anew(result, b))
TBB(8allocateERPNS0_2d117small_object_poolEmRKNS2_14execution_dataE, , begin_anew(result, b))
TBB(22cache_aligned_allocateEm, , begin_anew(result, a))
TBB(15allocate_memoryEm, , begin_anew(result, a))
