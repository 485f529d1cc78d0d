// SPDX-License-Identifier: Apache-2.0
// The threads that can be watched: each has parked breakpoints, which others set, and a
// clock that counts its calls of synchronisation.
//
// Records are never given back to the system, so that a pointer to one stays good: a record
// whose thread has ended is reused, and its clock goes on from where it was.
#pragma once

#include <atomic>
#include <cstdint>

#include "model/identity.h"
#include "watch/agent/breakpoints.h"
#include "watch/agent/system.h"

namespace deadheat::watch {

struct alignas(64) ThreadRecord {
  // Changed by the thread itself only.
  std::atomic<std::uint64_t> clock;
  std::atomic<bool> is_taken;  // by a thread, or for one that is about to begin
  std::atomic<bool> is_live;   // has its breakpoints; changed with `lock` held
  SpinLock lock;               // of `events`, against their end
  std::uint32_t life;          // how often the record was used
  std::uint32_t system_number;
  int events[kMostSlots];
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
inline constexpr std::uint32_t kMostArmed = 32;

// nullptr in threads without a record; also in those that have not begun or have ended.
extern thread_local ThreadRecord* current __attribute__((tls_model("initial-exec")));

// Any synchronisation of the program: before it releases and after it acquires.
inline void tick_clock() {
  ThreadRecord* const self = current;
  if (self == nullptr) return;
  // Its only writer. The synchronisation itself orders it for others.
  self->clock.store(self->clock.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

// A record for a thread to come; nullptr if there are too many.
[[nodiscard]] ThreadRecord* take_record();
void give_back(ThreadRecord& record);

// The calling thread begins: opens its breakpoints. False if not one could be opened (-errno in
// `error`); then the thread has no record, and the record is free again.
bool begin_thread(ThreadRecord& record, std::uint32_t slots, int& error);
// The calling thread ends, if it has a record.
void end_thread();

struct ThreadCounts {
  std::atomic<std::uint64_t> live;
  std::atomic<std::uint64_t> begun;
  std::atomic<std::uint64_t> uncovered;  // threads without a record or breakpoints
};
extern ThreadCounts thread_counts;

// One thread's breakpoint that was set for a watch.
struct ArmedThread {
  ThreadRecord* record;
  std::uint32_t life;
};

// Sets the breakpoint of that slot in the threads other than `self`, at most kMostArmed, from a
// random one on. Returns how many.
std::uint32_t arm_others(const ThreadRecord* self, std::uint32_t slot, Address address, std::uint32_t size,
                         Watched watched, std::uint64_t data, std::uint64_t random, ArmedThread* armed);
void disarm_others(std::uint32_t slot, const ArmedThread* armed, std::uint32_t count);

// All events of all threads. In a child of fork also forgets who holds locks.
void close_all_events();
void forget_threads();

}  // namespace deadheat::watch
