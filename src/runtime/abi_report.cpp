// SPDX-License-Identifier: Apache-2.0
// What the program may ask and hear about races: the hooks of program_hooks.h and
// the functions of TSan's interface that describe a report or an address.
//
// A report can be asked about while __tsan_on_report runs, in the thread that
// runs it. Its two accesses are numbered as in TSan: 0 is the later one. Threads
// are numbered from 0 (main), one less than in our own reports. Names of globals
// and functions are worked out outside the process, so there are none here, nor
// mutexes: the program asks in its own process, where only numbers are known.
#include <cstddef>
#include <cstdint>

#include "runtime/heap_table.h"
#include "runtime/intercept/interceptor.h"
#include "runtime/program_hooks.h"

using namespace deadheat;
using namespace deadheat::runtime;

extern "C" {
__attribute__((weak)) void __tsan_on_initialize();
__attribute__((weak)) int __tsan_on_finalize(int failed);
__attribute__((weak)) void __tsan_on_report(void* report);
}

namespace {

struct ReportedAccess {
  std::uint32_t thread = 0;
  Address address = 0;
  std::uint64_t size = 0;
  AccessKind kind = AccessKind::kRead;
  std::uint32_t stack = 0;
  Address code = 0;
};

struct ReportedRace {
  ReportedAccess sides[2];  // later, earlier
  HeapBlock block;          // that the bytes are in, if any
};

constinit thread_local const ReportedRace* current_report __attribute__((tls_model("initial-exec"))) = nullptr;

ReportedAccess describe(std::uint32_t thread, AccessKind kind, const OriginDetails& origin, Address address,
                        std::uint64_t size) {
  const bool is_free = (origin.shape.flags & kOriginFree) != 0;
  return {.thread = thread,
          .address = address,
          .size = size,
          .kind = is_free ? AccessKind::kFree : kind,
          .stack = origin.stack,
          .code = origin.code};
}

// Numbers as the program counts them.
int program_number(std::uint32_t thread) { return static_cast<int>(thread) - 1; }

// Fills the program's array of code addresses, 0 after the last.
void copy_trace(std::uint32_t stack, Address code, void** trace, std::size_t room) {
  if (trace == nullptr || room == 0) return;
  auto* const into = reinterpret_cast<Address*>(trace);
  std::uint32_t count = 0;
  if (code != 0) into[count++] = code;
  count += copy_stack(stack, into + count, static_cast<std::uint32_t>(room) - count);
  if (count < room) into[count] = 0;
}

template <class Value, class Given>
void set(Value* target, Given value) {
  if (target != nullptr) *target = static_cast<Value>(value);
}

const ReportedRace* report_at(void* report) {
  return report != nullptr && report == current_report ? current_report : nullptr;
}

const ReportedAccess* access_at(void* report, unsigned long index) {
  const ReportedRace* const race = report_at(report);
  return race != nullptr && index < 2 ? &race->sides[index] : nullptr;
}

}  // namespace

namespace deadheat::runtime {

void tell_program_of_start() {
  if (__tsan_on_initialize == nullptr) return;
  const RuntimeScope scope;
  __tsan_on_initialize();
}

int ask_program_at_end(int failed) {
  if (__tsan_on_finalize == nullptr) return failed;
  const RuntimeScope scope;
  return __tsan_on_finalize(failed);
}

void tell_program_of_race(ThreadState& self, const RaceSides& sides) {
  if (__tsan_on_report == nullptr || current_report != nullptr) return;
  const RuntimeScope scope;
  const Address begin = sides.begin();
  const std::uint64_t size = sides.end() - begin;
  std::uint32_t earlier = 0;
  {
    SpinHolder hold(registry().lock);
    earlier = raw(slot_owner(sides.earlier.slot(), full_clock(sides.earlier.epoch())));
  }
  ReportedRace race;
  race.sides[0] = describe(thread_number(self), sides.later.kind, sides.later_origin, begin, size);
  race.sides[1] = describe(earlier, sides.earlier.kind(), sides.earlier_origin, begin, size);
  race.block = HeapTable::describe(begin);
  current_report = &race;
  __tsan_on_report(&race);
  current_report = nullptr;
}

}  // namespace deadheat::runtime

DEADHEAT_INTERCEPT(void*, __tsan_get_current_report) { return const_cast<ReportedRace*>(current_report); }

DEADHEAT_INTERCEPT(int, __tsan_get_report_data, void* report, const char** description, int* count, int* stack_count,
                   int* access_count, int* location_count, int* mutex_count, int* thread_count,
                   int* unique_thread_count, void** sleep_trace, unsigned long trace_size) {
  const ReportedRace* const race = report_at(report);
  if (race == nullptr) return 0;
  set(description, race->sides[0].kind == AccessKind::kFree || race->sides[1].kind == AccessKind::kFree
                       ? "data-race-on-free"
                       : "data-race");
  set(count, 0);
  set(stack_count, 0);
  set(access_count, 2);
  set(location_count, race->block.kind == HeapKind::kUnknown ? 0 : 1);
  set(mutex_count, 0);
  set(thread_count, 2);
  set(unique_thread_count, 0);
  copy_trace(0, 0, sleep_trace, trace_size);
  return 1;
}

DEADHEAT_INTERCEPT(int, __tsan_get_report_mop, void* report, unsigned long index, int* thread, void** address,
                   int* size, int* write, int* atomic, void** trace, unsigned long trace_size) {
  const ReportedAccess* const access = access_at(report, index);
  if (access == nullptr) return 0;
  set(thread, program_number(access->thread));
  if (address != nullptr) *address = reinterpret_cast<void*>(access->address);
  set(size, access->size);
  set(write, is_write(access->kind) ? 1 : 0);
  set(atomic, is_atomic(access->kind) ? 1 : 0);
  copy_trace(access->stack, access->code, trace, trace_size);
  return 1;
}

DEADHEAT_INTERCEPT(int, __tsan_get_report_thread, void* report, unsigned long index, int* thread, std::uint64_t* os_id,
                   int* running, const char** name, int* parent, void** trace, unsigned long trace_size) {
  const ReportedAccess* const access = access_at(report, index);
  if (access == nullptr || access->thread == 0) return 0;
  const ThreadInfo& info = registry().info(ThreadId{access->thread});
  set(thread, program_number(access->thread));
  set(os_id, info.os_id);
  set(running, (info.flags & raw_report::kThreadFinished) != 0 ? 0 : 1);
  set(name, info.name);
  set(parent, program_number(info.parent));
  copy_trace(info.created_stack, 0, trace, trace_size);
  return 1;
}

DEADHEAT_INTERCEPT(int, __tsan_get_report_loc, void* report, unsigned long index, const char** type, void** address,
                   void** begin, unsigned long* size, int* thread, int* descriptor, int* suppressable, void** trace,
                   unsigned long trace_size) {
  const ReportedRace* const race = report_at(report);
  if (race == nullptr || index != 0 || race->block.kind == HeapKind::kUnknown) return 0;
  set(type, "heap");
  if (address != nullptr) *address = reinterpret_cast<void*>(race->sides[0].address);
  if (begin != nullptr) *begin = reinterpret_cast<void*>(race->block.begin);
  set(size, race->block.size);
  set(thread, program_number(race->block.allocated_by));
  set(descriptor, -1);
  set(suppressable, 0);
  copy_trace(race->block.allocated_stack, 0, trace, trace_size);
  return 1;
}

// Parts that our reports do not have, or not here.
DEADHEAT_INTERCEPT(int, __tsan_get_report_tag, void* report, unsigned long* tag) {
  set(tag, 0);
  return report_at(report) != nullptr ? 1 : 0;
}
DEADHEAT_INTERCEPT(int, __tsan_get_report_stack, void*, unsigned long, void**, unsigned long) { return 0; }
DEADHEAT_INTERCEPT(int, __tsan_get_report_loc_object_type, void*, unsigned long, const char** type) {
  set(type, "");
  return 0;
}
DEADHEAT_INTERCEPT(int, __tsan_get_report_mutex, void*, unsigned long, std::uint64_t*, void**, int*, void**,
                   unsigned long) {
  return 0;
}
DEADHEAT_INTERCEPT(int, __tsan_get_report_unique_tid, void*, unsigned long, int*) { return 0; }

// What an address is: a heap block, a thread's stack, or, as all else, global.
DEADHEAT_INTERCEPT(const char*, __tsan_locate_address, unsigned long address, char* name, std::size_t name_size,
                   unsigned long* begin, unsigned long* size) {
  if (name != nullptr && name_size > 0) name[0] = 0;
  set(begin, 0);
  set(size, 0);
  const HeapBlock block = HeapTable::describe(address);
  if (block.kind == HeapKind::kLive) {
    set(begin, block.begin);
    set(size, block.size);
    return "heap";
  }
  if (!is_observing()) return "";
  const RuntimeScope scope;
  SpinHolder hold(registry().lock);
  for (ThreadState* thread = registry().first(); thread != nullptr; thread = thread->next) {
    if (address - thread->stack_begin >= thread->stack_size) continue;
    set(begin, thread->stack_begin);
    set(size, thread->stack_size);
    return "stack";
  }
  return "global";
}

// Returns how many code addresses it stored; 0 if the address is in no live block.
DEADHEAT_INTERCEPT(int, __tsan_get_alloc_stack, unsigned long address, unsigned long* trace, std::size_t room,
                   int* thread, std::uint64_t* os_id) {
  const HeapBlock block = HeapTable::describe(address);
  if (block.kind != HeapKind::kLive) return 0;
  set(thread, program_number(block.allocated_by));
  set(os_id, block.allocated_by == 0 ? 0 : registry().info(ThreadId{block.allocated_by}).os_id);
  return static_cast<int>(copy_stack(block.allocated_stack, trace, static_cast<std::uint32_t>(room)));
}
