// SPDX-License-Identifier: Apache-2.0
// The threads that can be watched: each has a clock that counts its calls of synchronisation.
//
// Records are never given back to the system, so that a pointer to one stays good: a record
// whose thread has ended is reused, and its clock goes on from where it was.
#pragma once

#include <atomic>
#include <cstdint>

#include "model/identity.h"
#include "watch/agent/breakpoints.h"
#include "watch/agent/system.h"
#include "watch/attach_block.h"

namespace deadheat::watch {

// What the program believes of SIGTRAP: see signals.h. Changed by the thread itself only.
struct TrapView {
  bool seems_blocked;
  bool is_pending;
};

struct alignas(64) ThreadRecord {
  // Changed by the thread itself only.
  std::atomic<std::uint64_t> clock;
  std::atomic<std::uint64_t> pointer;  // by which its thread finds it; 0 while it has none
  TrapView trap;
  std::uint64_t mask_for_kernel[16];  // a set of signals that a waiting call of the thread was given
  std::atomic<bool> is_taken;         // by a thread, or for one that is about to begin
  // Its thread runs and `system_number` is its own.
  //   Written: by the thread, or by the agent's for it.
  //   Read:    by the agent's thread, and by handlers that look for themselves.
  std::atomic<bool> is_live;
  std::uint32_t system_number;
  // Of the stack that the thread was given.
  Address stack_begin;
  Address stack_end;
  // What a new thread is to do.
  union {
    void* (*begin)(void*);
    int (*begin_c11)(void*);
  };
  void* argument;
  bool inherits_blocked_trap;
};

inline constexpr std::uint32_t kMostThreads = 1024;
// More of them are not watched at once.
inline constexpr std::uint32_t kMostArmed = 16;

// Records by the thread pointer of their threads (the base of fs). Not a thread-local variable: an agent that is put
// into a running process has none.
//   Written: under a lock, by the thread itself or for it before the agent begins.
//   Read:    by any thread without a lock; it finds its own or none.
inline constexpr std::uint32_t kThreadPlaces = 4096;
inline constexpr std::uint32_t kMostProbes = 64;
extern std::atomic<ThreadRecord*> thread_places[kThreadPlaces];

inline std::uint64_t thread_pointer() {
  std::uint64_t pointer = 0;
  __asm__("movq %%fs:0x10, %0" : "=r"(pointer));
  return pointer;
}
inline std::uint32_t thread_place(std::uint64_t pointer) {
  return static_cast<std::uint32_t>((pointer >> 6) * 0x9e3779b97f4a7c15ULL >> 52);
}

// nullptr in threads without a record; also in those that have not begun or have ended.
inline ThreadRecord* current_thread() {
  const std::uint64_t pointer = thread_pointer();
  std::uint32_t place = thread_place(pointer);
  for (std::uint32_t probes = 0; probes < kMostProbes; ++probes) {
    ThreadRecord* const record = thread_places[place].load(std::memory_order_relaxed);
    if (record == nullptr) return nullptr;
    if (record->pointer.load(std::memory_order_relaxed) == pointer) return record;
    place = (place + 1) % kThreadPlaces;
  }
  return nullptr;
}

// Before any synchronisation of the program. Not after it: the thread is inside libc in between, where nothing is
// sampled, so that one tick tells what came before from what comes after.
inline void tick_clock() {
  ThreadRecord* const self = current_thread();
  if (self == nullptr) return;
  // Its only writer. The synchronisation itself orders it for others.
  self->clock.store(self->clock.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

// A record for a thread to come; nullptr if there are too many.
[[nodiscard]] ThreadRecord* take_record();
void give_back(ThreadRecord& record);

// The calling thread begins.
void begin_thread(ThreadRecord& record);
// The calling thread ends, if it has a record.
void end_thread();

// For a thread that runs already; its pointer is 0 if nobody knows it. False if it cannot be watched.
bool adopt_thread(const AttachThread& thread);
// For whoever takes the agent out of a running process: what the threads want of SIGTRAP.
[[nodiscard]] AttachRecords describe_records();
// nullptr if no thread with a record has that number.
[[nodiscard]] ThreadRecord* find_by_number(std::uint32_t system_number);
// The calling thread is the one of that record, which nobody knew the pointer of.
void adopt_pointer(ThreadRecord& record);
// By the agent's thread: records of threads that have ended unseen are given back, and threads without one get
// one, but for the agent's own.
void reconcile_threads(std::uint32_t own_number);

struct ThreadCounts {
  std::atomic<std::uint64_t> live;
  std::atomic<std::uint64_t> begun;
  std::atomic<std::uint64_t> uncovered;  // threads without a record, or that could not be watched
};
extern ThreadCounts thread_counts;

// By the agent's thread: breakpoints in the threads other than `self`, at most kMostArmed, from a random one on.
// Returns how many; their descriptors in `events`.
std::uint32_t arm_others(const ThreadRecord* self, Address address, std::uint32_t size, Watched watched,
                         std::uint64_t data, std::uint64_t random, int* events);
// One of the threads, by a random number; nullptr if there is none.
[[nodiscard]] const ThreadRecord* some_thread(std::uint64_t random);

// In a child of fork: nobody of them is there.
void forget_threads();

}  // namespace deadheat::watch
