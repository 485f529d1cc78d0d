// SPDX-License-Identifier: Apache-2.0
#include "watch/agent/threads.h"

#include <pthread.h>
#include <sys/syscall.h>

#include <cerrno>

namespace deadheat::watch {

constinit thread_local ThreadRecord* current __attribute__((tls_model("initial-exec"))) = nullptr;
constinit ThreadCounts thread_counts = {};

namespace {

constinit ThreadRecord records[kMostThreads] = {};
constinit std::atomic<std::uint32_t> used_records{0};  // all taken ones are before it

void find_main_stack(ThreadRecord& record) {
  struct Search {
    Address inside;
    ThreadRecord* record;
  } search{reinterpret_cast<Address>(&search), &record};
  for_each_mapping(
      [](const Mapping& mapping, void* context) {
        const auto& wanted = *static_cast<Search*>(context);
        if (wanted.inside < mapping.begin || wanted.inside >= mapping.end) return true;
        constexpr Address kGrowth = 8 << 20;  // the usual limit
        wanted.record->stack_begin = mapping.end - kGrowth;
        wanted.record->stack_end = mapping.end;
        return false;
      },
      &search);
}

void find_stack(ThreadRecord& record) {
  record.stack_begin = record.stack_end = 0;
  if (record.system_number == static_cast<std::uint32_t>(raw_call(SYS_getpid))) return find_main_stack(record);
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
  void* lowest = nullptr;
  std::size_t size = 0;
  std::size_t guard = 0;
  if (pthread_attr_getstack(&attributes, &lowest, &size) == 0 && pthread_attr_getguardsize(&attributes, &guard) == 0) {
    record.stack_begin = reinterpret_cast<Address>(lowest) + guard;
    record.stack_end = reinterpret_cast<Address>(lowest) + size;
  }
  pthread_attr_destroy(&attributes);
}

void close_events(ThreadRecord& record) {
  const SpinHolder hold(record.lock);
  if (!record.is_live.load(std::memory_order_relaxed)) return;
  record.is_live.store(false, std::memory_order_relaxed);
  for (int& event : record.events) {
    if (event >= 0) close_breakpoint(event);
    event = -1;
  }
}

}  // namespace

ThreadRecord* take_record() {
  for (std::uint32_t at = 0; at < kMostThreads; ++at) {
    ThreadRecord& record = records[at];
    if (record.is_taken.load(std::memory_order_relaxed) ||
        record.is_taken.exchange(true, std::memory_order_acquire)) {  // pairs with give_back()
      continue;
    }
    std::uint32_t used = used_records.load(std::memory_order_relaxed);
    while (used <= at && !used_records.compare_exchange_weak(used, at + 1, std::memory_order_relaxed)) {
    }
    return &record;
  }
  thread_counts.uncovered.fetch_add(1, std::memory_order_relaxed);
  return nullptr;
}

void give_back(ThreadRecord& record) { record.is_taken.store(false, std::memory_order_release); }  // take_record()

bool begin_thread(ThreadRecord& record, std::uint32_t slots, int& error) {
  record.system_number = static_cast<std::uint32_t>(raw_call(SYS_gettid));
  find_stack(record);
  const SignalsBlocked blocked;
  bool has_one = false;
  {
    const SpinHolder hold(record.lock);
    for (std::uint32_t slot = 0; slot < kMostSlots; ++slot) {
      record.events[slot] = slot < slots ? open_breakpoint() : -1;
      if (record.events[slot] >= 0) {
        has_one = true;
      } else if (slot < slots) {
        error = record.events[slot];
      }
    }
    ++record.life;
    record.is_live.store(has_one, std::memory_order_relaxed);
  }
  if (!has_one) {
    thread_counts.uncovered.fetch_add(1, std::memory_order_relaxed);
    give_back(record);
    return false;
  }
  thread_counts.live.fetch_add(1, std::memory_order_relaxed);
  thread_counts.begun.fetch_add(1, std::memory_order_relaxed);
  current = &record;
  return true;
}

void end_thread() {
  ThreadRecord* const self = current;
  if (self == nullptr) return;
  tick_clock();
  const SignalsBlocked blocked;
  current = nullptr;
  close_events(*self);
  thread_counts.live.fetch_sub(1, std::memory_order_relaxed);
  give_back(*self);
}

std::uint32_t arm_others(const ThreadRecord* self, std::uint32_t slot, Address address, std::uint32_t size,
                         Watched watched, std::uint64_t data, std::uint64_t random, ArmedThread* armed) {
  const std::uint32_t used = used_records.load(std::memory_order_relaxed);
  const auto first = static_cast<std::uint32_t>(random % used);
  std::uint32_t count = 0;
  for (std::uint32_t step = 0; step < used && count < kMostArmed; ++step) {
    ThreadRecord& record = records[(first + step) % used];
    if (&record == self || !record.is_live.load(std::memory_order_relaxed)) continue;
    const SpinHolder hold(record.lock);
    if (!record.is_live.load(std::memory_order_relaxed) || record.events[slot] < 0) continue;
    if (!set_breakpoint(record.events[slot], address, size, watched, data)) continue;
    armed[count++] = {&record, record.life};
  }
  return count;
}

void disarm_others(std::uint32_t slot, const ArmedThread* armed, std::uint32_t count) {
  for (std::uint32_t at = 0; at < count; ++at) {
    ThreadRecord& record = *armed[at].record;
    const SpinHolder hold(record.lock);
    if (!record.is_live.load(std::memory_order_relaxed) || record.life != armed[at].life) continue;
    if (record.events[slot] >= 0) disable_breakpoint(record.events[slot]);
  }
}

void close_all_events() {
  for (std::uint32_t at = 0; at < used_records.load(std::memory_order_relaxed); ++at) close_events(records[at]);
}

void forget_threads() {
  current = nullptr;
  for (std::uint32_t at = 0; at < used_records.load(std::memory_order_relaxed); ++at) {
    records[at].lock.reset();
    close_events(records[at]);
  }
}

}  // namespace deadheat::watch
