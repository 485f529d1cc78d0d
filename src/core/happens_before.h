// SPDX-License-Identifier: Apache-2.0
// HappensBefore: which events order which, for a stream of events.
//
// Keeps a clock per thread and per synchronisation object and moves them as the
// meaning of each event says (model/event.h; PACER paper, Algorithms 1-4). All
// engines share it, each with its family of clocks (sync_clock.h, pacer_clock.h);
// the reference detector has its own, naive one, against which this is tested.
//
// Slots. Vector clocks are indexed by slot, not by thread, and a slot is used
// again: a thread forked by p may continue the slot of an ended thread u if p
// knows u's last epoch (it joined u, directly or through others). Then all of
// u happens before all of the child, as if they were one thread, and every
// epoch of u stays as comparable as before: exact, without sweeping. A program
// that makes a million threads and joins them needs as many slots as were
// alive at once.
//
// A thread that appears without Fork is a root. Streams that break the rules of
// trace checking give unspecified verdicts but are safe to process.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/flat_map.h"
#include "base/paged_table.h"
#include "core/barrier_clocks.h"
#include "core/sync_clock.h"
#include "model/event.h"

namespace deadheat {

template <class Clocks>
class BasicHappensBefore {
 public:
  using Thread = typename Clocks::Thread;
  using Sync = typename Clocks::Sync;

  explicit BasicHappensBefore(ReleaseSequences release_sequences) : release_sequences_(release_sequences) {}

  // The thread's clocks; a root is made for a thread not seen before. The
  // reference stays valid.
  Thread& thread(ThreadId id) {
    const std::unique_ptr<Thread>& known = threads_[raw(id)];
    return known != nullptr ? *known : make_root(id);
  }

  // Everything but memory accesses: locks, waits, barriers, semaphores, once,
  // annotations, fences, thread events. Kinds that order nothing are ignored.
  void apply(Thread& self, const Event& event);

  // An atomic access orders in two halves, around its check: what it acquires
  // counts for its own check, what it releases includes it.
  void atomic_acquire(Thread& self, const Event& event);
  void atomic_release(Thread& self, const Event& event);

  // New memory: atomic variables that lay there are gone.
  void forget_atomics(Address address, std::uint64_t size);

  // The thread that had this epoch.
  [[nodiscard]] ThreadId owner(Epoch epoch) const;

  [[nodiscard]] std::uint32_t slots() const { return static_cast<std::uint32_t>(owners_.size()); }

  // What the family keeps for all its clocks.
  [[nodiscard]] const typename Clocks::Common& common() const { return common_; }

 private:
  // From this clock on, the slot is this thread's.
  struct Tenure {
    Clock first = 0;
    ThreadId thread{};
  };

  // Why a thread's slot may be continued: bits of retired_.
  static constexpr std::uint8_t kExited = 1;
  static constexpr std::uint8_t kDetached = 2;
  static constexpr std::uint8_t kJoined = 4;

  using LockClock = LockClockOf<Clocks>;
  using AtomicClock = AtomicClockOf<Clocks>;

  Thread& make_root(ThreadId id);
  Thread& start(Thread thread);
  void fork(Thread& self, ThreadId child);
  void join(Thread& self, ThreadId child);
  void retire(Thread& thread, std::uint8_t reason);
  ThreadSlot slot_for_child_of(const Thread& parent);
  ThreadSlot fresh_slot();

  ReleaseSequences release_sequences_;
  typename Clocks::Common common_;
  PagedTable<std::unique_ptr<Thread>> threads_;  // by ThreadId
  PagedTable<std::uint8_t> retired_;             // by ThreadId
  std::vector<std::vector<Tenure>> owners_;      // by ThreadSlot, rising clocks
  std::vector<Epoch> ended_;                     // last epochs of slots that may be continued

  FlatMap<LockClock> locks_;
  BarrierClocksOf<Clocks> barriers_;
  FlatMap<Sync> semaphores_;
  FlatMap<Sync> onces_;
  FlatMap<Sync> tags_;
  FlatMap<AtomicClock> atomics_;
};

using HappensBefore = BasicHappensBefore<CopiedClocks<>>;

}  // namespace deadheat
