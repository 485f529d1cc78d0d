// SPDX-License-Identifier: Apache-2.0
// The threads of the program: their state while they live, and what reports want
// to know of them for ever.
//
// A ThreadState belongs to its thread. Others touch it only as noted at each
// member. It lives until the thread has finished and was joined or detached.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/flat_map.h"
#include "base/growable_array.h"
#include "core/footprint.h"
#include "core/ignore_state.h"
#include "core/sync_clock.h"
#include "model/event.h"
#include "model/identity.h"
#include "runtime/cold_sampling.h"
#include "runtime/origins.h"
#include "runtime/page_source.h"
#include "runtime/raw_report.h"
#include "runtime/sampling.h"
#include "runtime/scheduling.h"
#include "runtime/slots.h"
#include "runtime/system.h"
#include "runtime/thread_state.h"

namespace deadheat::runtime {

// What remains of a thread when it is gone. Written by its creator and itself,
// read by reports under the registry's lock.
struct ThreadInfo {
  std::uint32_t os_id = 0;
  std::uint32_t parent = 0;
  std::uint32_t flags = 0;          // raw_report::kThread...
  std::uint32_t created_stack = 0;  // StackId
  char name[16] = {};
};

struct HeldLockState {
  Address lock = 0;
  std::uint64_t serial = 0;
  LockMode mode = LockMode::kExclusive;
  std::uint32_t depth = 1;
  std::uint32_t created_stack = 0;
  // Number of the set of locks up to here, 0 as long as nobody asked; and its hash.
  std::uint32_t lock_set = 0;
  std::uint64_t path = 0;
};

// Locks that were taken while nothing was recorded, in that order; see unseen_locks.h.
struct UnseenLocks {
  static constexpr std::uint32_t kMost = 15;
  static constexpr Address kShared = Address{1} << 63;  // held so; addresses are shorter

  std::uint32_t count = 0;
  Address locks[kMost];
};

// An atomic load that took over what its variable carried. The same load in the
// same epoch finds nothing new while the stripe has not changed: the variable
// carries what it carried, the thread is in its shadow, and memory that was given
// back and came again would have ended the variable.
struct LoadSeen {
  Address address = 0;
  Address code = 0;
  std::uint64_t epoch_bits = 0;
  std::uint64_t changes = 0;
  std::uint32_t size_and_order = 0;

  friend bool operator==(const LoadSeen&, const LoadSeen&) = default;
};

struct Footprints;

struct ThreadState {
  ThreadState(ThreadId id, ThreadSlot slot, Version version, const RuntimeClock& inherited, const ThreadState* parent)
      : clock_common{{}, version, version != 0},
        clock(clock_common, id, slot, inherited, parent == nullptr ? nullptr : &parent->clock) {}

  RuntimeThreadClock::Common clock_common;
  // Changed by the thread itself, with clock_lock held where components of other
  // threads change; read by refresh_known_to_all() with clock_lock held.
  RuntimeThreadClock clock;
  SpinLock clock_lock;

  ThreadInfo* info = nullptr;
  std::uint64_t handle = 0;                                                             // pthread_t; registry's lock
  enum class Life : std::uint8_t { kRunning, kFinished, kGone } life = Life::kRunning;  // registry's lock
  bool is_detached = false;                                                             // registry's lock
  ThreadState* previous = nullptr;  // list of those not gone; registry's lock
  ThreadState* next = nullptr;

  Frame* frames = nullptr;
  Frame* saved_top = nullptr;                               // while another fiber runs
  GrowableArray<std::uint64_t, PageSource> recorded_calls;  // their paths, as of the last event; see record.cpp

  GrowableArray<HeldLockState, PageSource> held;
  UnseenLocks unseen_locks;        // taken after those
  std::uint32_t owner_before = 0;  // of the lock released last
  LoadSeen last_load;
  Footprints* footprints = nullptr;  // accesses to regions that are not committed yet
  IgnoreState ignore;
  ThreadSampling sampling;
  ColdCalls cold;
  ThreadSchedule schedule;
  ThreadLocal* local = nullptr;  // while the thread runs; registry's lock to use that of another thread
  // Tells the accesses to ranges apart; 0 outside of one. See races.cpp.
  std::uint64_t range_number = 0;
  Footprint swept;  // by the access that is being reported; count 0: by none
  std::uint64_t ranges = 0;
  // kOriginCacheSize and kStackCacheSize of them, made at the first use.
  OriginCacheEntry* origins = nullptr;
  OriginCacheEntry* stacks = nullptr;

  Address stack_begin = 0;
  std::size_t stack_size = 0;

  // The thread is changing a cell block; see cell_blocks.h. seq_cst on both sides.
  std::atomic<bool> uses_block{false};
  GrowableArray<std::uint32_t, PageSource> unlinked_blocks;
  GrowableArray<std::uint32_t, PageSource> spare_blocks;
  std::uint64_t generation = 0;
};

// The thread does not record what it does now.
[[nodiscard]] inline bool is_unsampled(const ThreadState& self) { return samples && !self.clock.is_sampling(); }

inline constexpr std::uint32_t kFrameLimit = 1U << 17;

class ThreadRegistry {
 public:
  SpinLock lock;  // protects all that says so

  // The number is 1 for the main thread. `parent` is nullptr for roots. Returns
  // nullptr when there is no memory. Takes the lock.
  ThreadState* add(ThreadState* parent, std::uint32_t created_stack, std::uint32_t flags);
  // The state of a thread that is done for good. Lock held.
  void remove(ThreadState* thread);

  [[nodiscard]] ThreadInfo& info(ThreadId id);
  [[nodiscard]] std::uint32_t count() const { return count_; }
  [[nodiscard]] std::uint32_t live_count() const { return live_; }

  // All that are not gone. Lock held.
  [[nodiscard]] ThreadState* first() { return first_; }

  FlatMap<ThreadState*, PageSource> by_handle;  // lock held

  // After fork: everybody but `self` has vanished. Lock held.
  void keep_only(ThreadState* self);

  // The process is ending: states of threads that are gone are still looked at. Lock held.
  bool keeps_all = false;

  GrowableArray<std::uint32_t, PageSource> orphaned_blocks;  // of threads that are gone; lock held

 private:
  ThreadInfo* infos_ = nullptr;
  ThreadState* first_ = nullptr;
  std::uint32_t count_ = 0;
  std::uint32_t live_ = 0;
};

[[nodiscard]] ThreadRegistry& registry();

// Writes the path of the locks held to ThreadLocal after they changed from this
// index on.
void publish_locks(ThreadState& thread, std::uint32_t changed_from);

// Makes the thread the current one: its epoch and frames go to ThreadLocal.
void activate(ThreadState& thread);
// Writes the thread's epoch to ThreadLocal after it changed.
void publish_epoch(ThreadState& thread);

// The thread has begun a new epoch. Moves to a fresh slot when the short clock of this
// one is spent.
void renew_epoch(ThreadState& thread);
// The thread has released: what follows is a new epoch, if it samples.
inline void advance(ThreadState& thread) {
  if (!is_unsampled(thread)) renew_epoch(thread);
}

[[nodiscard]] inline std::uint32_t thread_number(const ThreadState& thread) { return raw(thread.clock.id()); }

// The thread accesses so many bytes: what is found in a range is counted once.
inline void number_range(ThreadState& self, std::size_t size) {
  self.range_number = size > 16 ? (std::uint64_t{thread_number(self)} << 40) | ++self.ranges : 0;
}

// What a thread (and all threads) know about an entry of the shadow.
class ThreadView {
 public:
  explicit ThreadView(const ThreadState& thread) : thread_(thread) {}
  [[nodiscard]] bool happened_before(CellEntry entry) const {
    return full_clock(entry.epoch()) <= thread_.clock.clock_of(entry.slot());
  }
  [[nodiscard]] bool is_obsolete(CellEntry entry) const {
    return full_clock(entry.epoch()) <= known_to_all(entry.slot());
  }
  [[nodiscard]] static bool is_known_with(CellEntry older, CellEntry younger) {
    return runtime::is_known_with(older, younger);
  }
  [[nodiscard]] static OriginId combine(OriginId earlier, OriginId added, ByteMask mask) {
    return combined_origin(earlier, added, mask);
  }

 private:
  const ThreadState& thread_;
};

}  // namespace deadheat::runtime
