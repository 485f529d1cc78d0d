// SPDX-License-Identifier: Apache-2.0
// libgomp's tasks. See gomp_team.h for what they order.
//
// libgomp copies the data of a task and calls the task's function with the copy, now or later, in any
// thread. It is given a small record instead, with the program's data copied
// by us, so that both the function and the data are at hand when the task begins.
//
// Dependences: a task that writes an address gives to the address itself, one that reads it to the next
// byte, one of an inoutset to the one behind that. A task that begins takes what its kind of dependence waits
// for. The tags end with the memory that the program names.
#include <cstdint>
#include <new>

#include "runtime/intercept/gomp_team.h"
#include "runtime/intercept/heap.h"
#include "runtime/intercept/library_calls.h"
#include "runtime/system.h"

namespace deadheat::runtime {
namespace {

using TaskFunction = void (*)(void*);
using CopyFunction = void (*)(void*, void*);

// libgomp's, from GCC's gomp-constants.h.
constexpr unsigned kHasDependences = 1U << 3;
constexpr unsigned kHasNoGroup = 1U << 11;
constexpr unsigned kHasReductions = 1U << 12;
constexpr unsigned kIsDetached = 1U << 13;

enum class Dependence : std::uint8_t { kIn = 1, kOut = 2, kInOut = 3, kMutexInOut = 4, kInOutSet = 5 };

// Calls visit(address, kind) for each dependence in the two forms of list that GCC makes.
template <class Visit>
void for_each_dependence(void** list, Visit visit) {
  if (list == nullptr) return;
  const auto number = [](void* word) { return reinterpret_cast<std::size_t>(word); };
  if (list[0] != nullptr) {  // how many, how many of these write
    for (std::size_t at = 0; at < number(list[0]); ++at)
      visit(number(list[2 + at]), at < number(list[1]) ? Dependence::kOut : Dependence::kIn);
    return;
  }
  const std::size_t all = number(list[1]);
  const std::size_t writing = number(list[2]);
  const std::size_t exclusive = writing + number(list[3]);
  const std::size_t reading = exclusive + number(list[4]);
  for (std::size_t at = 0; at < all; ++at) {
    void* const entry = list[5 + at];
    if (at < reading) {
      visit(number(entry), at < writing     ? Dependence::kOut
                           : at < exclusive ? Dependence::kMutexInOut
                                            : Dependence::kIn);
    } else {  // an object of its own: the address and the kind
      const auto* const object = static_cast<const std::size_t*>(entry);
      visit(object[0], static_cast<Dependence>(object[1]));
    }
  }
}

constexpr deadheat::Address kReaders = 1;
constexpr deadheat::Address kSet = 2;

void take_dependences(void** list, Address code) {
  if (!is_observing()) return;
  for_each_dependence(list, [code](Address address, Dependence kind) {
    on_happens_after(self(), address, code);
    if (kind != Dependence::kIn) on_happens_after(self(), address + kReaders, code);
    if (kind != Dependence::kInOutSet) on_happens_after(self(), address + kSet, code);
  });
}

void give_dependences(void** list, Address code) {
  if (!is_observing()) return;
  for_each_dependence(list, [code](Address address, Dependence kind) {
    const Address offset = kind == Dependence::kIn ? kReaders : kind == Dependence::kInOutSet ? kSet : 0;
    on_happens_before(self(), address + offset, code);
  });
}

void copy_bytes(void* to, const void* from, std::size_t size) {
  __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
}

// The record that libgomp is given in the place of the task's data, and copies.
struct TaskRecord {
  void* event = nullptr;  // libgomp stores the event of a detached task in the first word
  GompTask* task = nullptr;
  TaskFunction function = nullptr;
  void* data = nullptr;
  void** dependences = nullptr;
  std::uint32_t dependence_words = 0;
  bool is_detached = false;
  Address code = 0;
};

std::size_t words_of(void** list) {
  if (list[0] != nullptr) return 2 + reinterpret_cast<std::size_t>(list[0]);
  return 5 + reinterpret_cast<std::size_t>(list[1]);
}

// The program's data in a block of their own; the task frees it.
void* copy_data(void* data, CopyFunction copy, long size, long alignment, Address code) {
  const auto room = static_cast<std::size_t>(size > 0 ? size : 0);
  void* const copied = allocate_aligned_block(static_cast<std::size_t>(alignment > 0 ? alignment : 1), room, code);
  if (copied == nullptr) return nullptr;
  if (copy != nullptr) {
    copy(copied, data);
  } else {
    copy_bytes(copied, data, room);
  }
  return copied;
}

// The task is what the current thread does until the task ends.
void run_as(GompTask* task, TaskFunction function, void* data, Address code) {
  GompTask* const outer = current_gomp_task();
  set_current_gomp_task(task);
  task->created.take(code);
  function(data);
  if (task->parent != nullptr) task->parent->children.give(code);
  if (task->group != nullptr) task->group->finished.give(code);
  if (task->team != nullptr) task->team->finished[task->phase % 2].give(code);
  set_current_gomp_task(outer);
}

void run_task(void* argument) {
  const TaskRecord record = *static_cast<TaskRecord*>(argument);
  if (record.is_detached) *static_cast<void**>(record.data) = record.event;
  take_dependences(record.dependences, record.code);
  run_as(record.task, record.function, record.data, record.code);
  give_dependences(record.dependences, record.code);
  free_unchecked(record.data);
  if (record.dependences != nullptr) PageSource::release(record.dependences, record.dependence_words * sizeof(void*));
  drop_gomp_task(record.task);
}

GompTask* make_child() {
  GompTask* const parent = current_gomp_task();
  return make_gomp_task(parent != nullptr ? parent->team : nullptr, parent);
}

// False if there is no memory: the task then runs as libgomp would run it without us.
bool prepare_task(TaskRecord& record, TaskFunction function, void** dependences, unsigned flags, Address code) {
  record.function = function;
  record.code = code;
  record.is_detached = (flags & kIsDetached) != 0;
  if ((flags & kHasDependences) != 0 && dependences != nullptr) {
    const std::size_t words = words_of(dependences);
    record.dependences = static_cast<void**>(PageSource::try_allocate(words * sizeof(void*)));
    if (record.dependences == nullptr) return false;
    copy_bytes(record.dependences, dependences, words * sizeof(void*));
    record.dependence_words = static_cast<std::uint32_t>(words);
  }
  record.task = make_child();
  if (record.task != nullptr) return true;
  if (record.dependences != nullptr) PageSource::release(record.dependences, record.dependence_words * sizeof(void*));
  return false;
}

// A loop of tasks. libgomp stores where each task begins and ends in the first two words of its
// copy of the data, and looks for reductions at the third.
struct LoopRecord {
  std::uint64_t bounds[2];
  void* reductions;
  TaskFunction function;
  CopyFunction copy;
  void* data;  // the loop's; of a task: its own copy
  long size;
  long alignment;
  Address code;
  GompTask* task;
};

// By libgomp, for each task of the loop, in the thread that has got to the loop.
void copy_loop_record(void* to, void* from) {
  auto& task = *static_cast<LoopRecord*>(to);
  task = *static_cast<LoopRecord*>(from);
  task.task = make_child();
  task.data = copy_data(task.data, task.copy, task.size, task.alignment, task.code);
  if (task.task != nullptr) task.task->created.give(task.code);
}

void run_loop_task(void* argument) {
  const LoopRecord record = *static_cast<LoopRecord*>(argument);
  if (record.data == nullptr) return say("no memory for the data of a task");
  auto* const bounds = static_cast<std::uint64_t*>(record.data);
  bounds[0] = record.bounds[0];
  bounds[1] = record.bounds[1];
  if (record.task == nullptr) {
    record.function(record.data);
  } else {
    run_as(record.task, record.function, record.data, record.code);
    drop_gomp_task(record.task);
  }
  free_unchecked(record.data);
}

void open_group() {
  GompTask* const task = current_gomp_task();
  if (task == nullptr) return;
  void* const memory = PageSource::try_allocate(sizeof(GompGroup));
  if (memory == nullptr) return;
  auto* const group = ::new (memory) GompGroup;
  group->outer = task->group;
  task->group = group;
}

// After all tasks of the group have ended.
void close_group(const GompGroup* before, Address code) {
  GompTask* const task = current_gomp_task();
  if (task == nullptr || task->group == nullptr || task->group == before) return;
  GompGroup* const group = task->group;
  task->group = group->outer;
  group->finished.take(code);
  take_gomp_events(code);
  group->finished.forget();
  PageSource::release(group, sizeof(GompGroup));
}

GompGroup* open_groups() {
  GompTask* const task = current_gomp_task();
  return task != nullptr ? task->group : nullptr;
}

// With an argument list of numbers that are long or unsigned long long.
template <class Behind>
void run_task_loop(const LoopRecord& loop, unsigned flags, Behind behind) {
  LoopRecord record = loop;
  if ((flags & kHasReductions) != 0) record.reductions = static_cast<void**>(loop.data)[2];
  const GompGroup* const before = open_groups();
  const bool has_group = (flags & kHasNoGroup) == 0;
  if (has_group) open_group();
  behind(&record);
  if (has_group) close_group(before, loop.code);
}

}  // namespace
}  // namespace deadheat::runtime

using namespace deadheat::runtime;

#define GOMP_CALL(result, name, ...) DEADHEAT_LIBRARY_CALL("libgomp", result, name, __VA_ARGS__)

GOMP_CALL(void, GOMP_task, TaskFunction function, void* data, CopyFunction copy, long size, long alignment,
          bool is_deferred, unsigned flags, void** dependences, int priority, void* event) {
  DEADHEAT_BEHIND(GOMP_task);
  TaskRecord record;
  if (!is_observing() || !prepare_task(record, function, dependences, flags, DEADHEAT_CALLER))
    return behind(function, data, copy, size, alignment, is_deferred, flags, dependences, priority, event);
  record.data = copy_data(data, copy, size, alignment, DEADHEAT_CALLER);
  if (record.data == nullptr) die("no memory for the data of a task");
  record.task->created.give(DEADHEAT_CALLER);
  if (record.is_detached) has_gomp_events.store(true, std::memory_order_relaxed);
  behind(run_task, &record, nullptr, sizeof(record), alignof(TaskRecord), is_deferred, flags, dependences, priority,
         event);
  if (record.is_detached) *static_cast<void**>(data) = record.event;
}

GOMP_CALL(void, GOMP_taskloop, TaskFunction function, void* data, CopyFunction copy, long size, long alignment,
          unsigned flags, unsigned long tasks, int priority, long begin, long end, long step) {
  DEADHEAT_BEHIND(GOMP_taskloop);
  if (!is_observing()) return behind(function, data, copy, size, alignment, flags, tasks, priority, begin, end, step);
  const LoopRecord loop{{}, nullptr, function, copy, data, size, alignment, DEADHEAT_CALLER, nullptr};
  run_task_loop(loop, flags, [&](LoopRecord* record) {
    behind(run_loop_task, record, copy_loop_record, sizeof(LoopRecord), alignof(LoopRecord), flags, tasks, priority,
           begin, end, step);
  });
}

GOMP_CALL(void, GOMP_taskloop_ull, TaskFunction function, void* data, CopyFunction copy, long size, long alignment,
          unsigned flags, unsigned long tasks, int priority, unsigned long long begin, unsigned long long end,
          unsigned long long step) {
  DEADHEAT_BEHIND(GOMP_taskloop_ull);
  if (!is_observing()) return behind(function, data, copy, size, alignment, flags, tasks, priority, begin, end, step);
  const LoopRecord loop{{}, nullptr, function, copy, data, size, alignment, DEADHEAT_CALLER, nullptr};
  run_task_loop(loop, flags, [&](LoopRecord* record) {
    behind(run_loop_task, record, copy_loop_record, sizeof(LoopRecord), alignof(LoopRecord), flags, tasks, priority,
           begin, end, step);
  });
}

GOMP_CALL(void, GOMP_taskwait) {
  DEADHEAT_BEHIND(GOMP_taskwait);
  behind();
  if (GompTask* const task = current_gomp_task()) task->children.take(DEADHEAT_CALLER);
  take_gomp_events(DEADHEAT_CALLER);
}

GOMP_CALL(void, GOMP_taskwait_depend, void** dependences) {
  DEADHEAT_BEHIND(GOMP_taskwait_depend);
  behind(dependences);
  take_dependences(dependences, DEADHEAT_CALLER);
  take_gomp_events(DEADHEAT_CALLER);
}

GOMP_CALL(void, GOMP_taskgroup_start) {
  DEADHEAT_BEHIND(GOMP_taskgroup_start);
  behind();
  open_group();
}
GOMP_CALL(void, GOMP_taskgroup_end) {
  DEADHEAT_BEHIND(GOMP_taskgroup_end);
  behind();
  close_group(nullptr, DEADHEAT_CALLER);
}

GOMP_CALL(void, omp_fulfill_event, void* event) {
  DEADHEAT_BEHIND(omp_fulfill_event);
  gomp_events.give(DEADHEAT_CALLER);
  behind(event);
}
