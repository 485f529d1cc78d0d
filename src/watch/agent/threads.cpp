// SPDX-License-Identifier: Apache-2.0
#include "watch/agent/threads.h"

#include "base/signals_blocked.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>

namespace deadheat::watch {

constinit std::atomic<ThreadRecord*> thread_places[kThreadPlaces] = {};
constinit ThreadCounts thread_counts = {};

namespace {

constinit ThreadRecord records[kMostThreads] = {};
constinit std::atomic<std::uint32_t> used_records{0};  // all taken ones are before it
constinit SpinLock places_lock;                        // with signals blocked
constinit SpinLock endings_lock;                       // with signals blocked

// With the lock held. False if there is no place for it.
bool enter_place_locked(ThreadRecord& record, std::uint64_t pointer) {
  record.pointer.store(pointer, std::memory_order_relaxed);
  std::uint32_t place = thread_place(pointer);
  std::atomic<ThreadRecord*>* free = nullptr;
  for (std::uint32_t probes = 0; probes < kMostProbes; ++probes, place = (place + 1) % kThreadPlaces) {
    ThreadRecord* const other = thread_places[place].load(std::memory_order_relaxed);
    if (other == &record) return true;  // its place from an earlier life
    const bool is_left = other == nullptr || other->pointer.load(std::memory_order_relaxed) == 0;
    // The stack of a thread that ended is the next one's.
    if (!is_left && other->pointer.load(std::memory_order_relaxed) == pointer) {
      other->pointer.store(0, std::memory_order_relaxed);
      if (free == nullptr) free = &thread_places[place];
    }
    if (is_left && free == nullptr) free = &thread_places[place];
    if (other == nullptr) break;
  }
  if (free == nullptr) return false;
  free->store(&record, std::memory_order_relaxed);
  return true;
}

// Who has no place is still found by its number.
void enter_place(ThreadRecord& record, std::uint64_t pointer) {
  const SpinHolder hold(places_lock);
  static_cast<void>(enter_place_locked(record, pointer));
}

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

void make_live(ThreadRecord& record) {
  record.is_live.store(true, std::memory_order_release);  // with its number: read by arm_others()
  thread_counts.live.fetch_add(1, std::memory_order_relaxed);
  thread_counts.begun.fetch_add(1, std::memory_order_relaxed);
}

// Once for each life: the thread may end while the agent's finds it gone.
void end_record(ThreadRecord& record) {
  if (!record.is_live.exchange(false, std::memory_order_relaxed)) return;
  record.pointer.store(0, std::memory_order_relaxed);
  thread_counts.live.fetch_sub(1, std::memory_order_relaxed);
  give_back(record);
}

ThreadRecord* try_to_take_record() {
  for (std::uint32_t at = 0; at < kMostThreads; ++at) {
    ThreadRecord& record = records[at];
    if (record.is_taken.load(std::memory_order_relaxed) ||
        record.is_taken.exchange(true, std::memory_order_acquire)) {  // pairs with give_back()
      continue;
    }
    std::uint32_t used = used_records.load(std::memory_order_relaxed);
    while (used <= at && !used_records.compare_exchange_weak(used, at + 1, std::memory_order_relaxed)) {
    }
    record.trap = {};
    return &record;
  }
  return nullptr;
}

// Threads whose end nobody has seen: in a running process nothing tells. Not by the list in /proc, which can miss
// threads while others come and go.
void end_records_of_the_dead() {
  // One at a time: what another one has ended may live again by the time that we end it.
  const SignalsBlocked blocked;
  const SpinHolder hold(endings_lock);
  const long process = raw_call(SYS_getpid);
  const std::uint32_t used = used_records.load(std::memory_order_relaxed);
  for (std::uint32_t at = 0; at < used; ++at) {
    ThreadRecord& record = records[at];
    if (!record.is_live.load(std::memory_order_acquire)) continue;  // pairs with make_live()
    if (raw_call(SYS_tgkill, process, static_cast<long>(record.system_number), 0) == -ESRCH) end_record(record);
  }
}

}  // namespace

ThreadRecord* take_record() {
  if (ThreadRecord* const record = try_to_take_record()) return record;
  end_records_of_the_dead();
  if (ThreadRecord* const record = try_to_take_record()) return record;
  thread_counts.uncovered.fetch_add(1, std::memory_order_relaxed);
  return nullptr;
}

void give_back(ThreadRecord& record) { record.is_taken.store(false, std::memory_order_release); }  // take_record()

void begin_thread(ThreadRecord& record) {
  record.system_number = static_cast<std::uint32_t>(raw_call(SYS_gettid));
  find_stack(record);
  const SignalsBlocked blocked;
  enter_place(record, thread_pointer());
  make_live(record);
}

void end_thread() {
  ThreadRecord* const self = current_thread();
  if (self == nullptr) return;
  tick_clock();
  const SignalsBlocked blocked;
  end_record(*self);
}

std::uint32_t arm_others(const ThreadRecord* self, Address address, std::uint32_t size, Watched watched,
                         std::uint64_t data, std::uint64_t random, int* events) {
  const std::uint32_t used = used_records.load(std::memory_order_relaxed);
  const auto first = static_cast<std::uint32_t>(random % used);
  std::uint32_t count = 0;
  for (std::uint32_t step = 0; step < used && count < kMostArmed; ++step) {
    const ThreadRecord& record = records[(first + step) % used];
    if (&record == self || !record.is_live.load(std::memory_order_acquire)) continue;  // pairs with make_live()
    const int event = open_breakpoint(record.system_number, address, size, watched, data);
    if (event >= 0) events[count++] = event;
    if (event < 0 && event != -ESRCH) thread_counts.uncovered.fetch_add(1, std::memory_order_relaxed);
  }
  return count;
}

const ThreadRecord* some_thread(std::uint64_t random) {
  const std::uint32_t used = used_records.load(std::memory_order_relaxed);
  if (used == 0) return nullptr;
  const auto first = static_cast<std::uint32_t>(random % used);
  for (std::uint32_t step = 0; step < used; ++step) {
    const ThreadRecord& record = records[(first + step) % used];
    if (record.is_live.load(std::memory_order_acquire)) return &record;  // pairs with make_live()
  }
  return nullptr;
}

void forget_threads() {
  places_lock.reset();
  endings_lock.reset();
  for (std::uint32_t at = 0; at < used_records.load(std::memory_order_relaxed); ++at) {
    records[at].is_live.store(false, std::memory_order_relaxed);
    records[at].pointer.store(0, std::memory_order_relaxed);
  }
}

AttachRecords describe_records() {
  AttachRecords all;
  all.first = reinterpret_cast<std::uint64_t>(records);
  all.count = kMostThreads;
  all.size = sizeof(ThreadRecord);
  all.is_live_at = offsetof(ThreadRecord, is_live);
  all.system_number_at = offsetof(ThreadRecord, system_number);
  all.trap_is_blocked_at = offsetof(ThreadRecord, trap) + offsetof(TrapView, seems_blocked);
  return all;
}

ThreadRecord* find_by_number(std::uint32_t system_number) {
  const std::uint32_t used = used_records.load(std::memory_order_relaxed);
  for (std::uint32_t at = 0; at < used; ++at) {
    if (records[at].is_live.load(std::memory_order_relaxed) && records[at].system_number == system_number) {
      return &records[at];
    }
  }
  return nullptr;
}

void adopt_pointer(ThreadRecord& record) {
  // In the handler, which may have interrupted the holder of the lock.
  if (!places_lock.try_lock()) return;
  static_cast<void>(enter_place_locked(record, thread_pointer()));
  places_lock.unlock();
}

bool adopt_thread(const AttachThread& thread) {
  ThreadRecord* const record = take_record();
  if (record == nullptr) return false;
  record->system_number = thread.system_number;
  record->stack_begin = thread.stack_begin;
  record->stack_end = thread.stack_end;
  record->trap = {thread.trap_is_blocked != 0, false};
  if (thread.thread_pointer != 0) enter_place(*record, thread.thread_pointer);
  make_live(*record);
  return true;
}

namespace {

struct DirectoryEntry {
  std::uint64_t inode;
  std::int64_t offset;
  std::uint16_t length;
  std::uint8_t type;
  char name[1];
};

// Threads of this process, by their numbers. Returns how many it wrote.
std::uint32_t list_threads(std::uint32_t* numbers, std::uint32_t limit) {
  const long folder =
      raw_call(SYS_openat, AT_FDCWD, as_argument("/proc/self/task"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return 0;
  alignas(8) char buffer[4096];
  std::uint32_t count = 0;
  for (;;) {
    const long got = raw_call(SYS_getdents64, folder, as_argument(buffer), sizeof buffer);
    if (got <= 0) break;
    for (long at = 0; at < got;) {
      const auto& entry = *reinterpret_cast<const DirectoryEntry*>(buffer + at);
      at += entry.length;
      std::uint32_t number = 0;
      for (const char* digit = entry.name; *digit >= '0' && *digit <= '9'; ++digit) {
        number = number * 10 + static_cast<std::uint32_t>(*digit - '0');
      }
      if (number != 0 && count < limit) numbers[count++] = number;
    }
  }
  raw_call(SYS_close, folder);
  return count;
}

// By the agent's thread: those there are, and those there were the last time.
struct ThreadNumbers {
  std::uint32_t count = 0;
  std::uint32_t all[2 * kMostThreads] = {};

  [[nodiscard]] bool has(std::uint32_t number) const {
    for (std::uint32_t at = 0; at < count; ++at) {
      if (all[at] == number) return true;
    }
    return false;
  }
};
constinit ThreadNumbers numbers_seen[2];
constinit std::uint32_t latest_numbers = 0;

}  // namespace

void reconcile_threads(std::uint32_t own_number) {
  const ThreadNumbers& before = numbers_seen[latest_numbers];
  latest_numbers = 1 - latest_numbers;
  ThreadNumbers& now = numbers_seen[latest_numbers];
  now.count = list_threads(now.all, 2 * kMostThreads);
  if (now.count == 0) return;
  end_records_of_the_dead();
  for (std::uint32_t at = 0; at < now.count; ++at) {
    const std::uint32_t number = now.all[at];
    // One that is new may be about to begin by itself.
    if (number == own_number || !before.has(number) || find_by_number(number) != nullptr) continue;
    AttachThread thread;
    thread.system_number = number;
    static_cast<void>(adopt_thread(thread));
  }
}

}  // namespace deadheat::watch
