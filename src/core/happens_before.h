// SPDX-License-Identifier: Apache-2.0
// HappensBefore: which events order which, for a stream of events.
//
// Keeps a clock per thread and per synchronisation object and moves them as the
// meaning of each event says (model/event.h; PACER paper, Algorithms 1-4). The
// FastTrack and Djit+ engines share it; the reference detector has its own,
// naive one, against which this is tested.
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

class HappensBefore {
 public:
  explicit HappensBefore(ReleaseSequences release_sequences) : release_sequences_(release_sequences) {}

  // The thread's clocks; a root is made for a thread not seen before. The
  // reference stays valid.
  ThreadClock& thread(ThreadId id) {
    const std::unique_ptr<ThreadClock>& known = threads_[raw(id)];
    return known != nullptr ? *known : make_root(id);
  }

  // Everything but memory accesses: locks, waits, barriers, semaphores, once,
  // annotations, fences, thread events. Kinds that order nothing are ignored.
  void apply(ThreadClock& self, const Event& event);

  // An atomic access orders in two halves, around its check: what it acquires
  // counts for its own check, what it releases includes it.
  void atomic_acquire(ThreadClock& self, const Event& event);
  void atomic_release(ThreadClock& self, const Event& event);

  // New memory: atomic variables that lay there are gone.
  void forget_atomics(Address address, std::uint64_t size);

  // The thread that had this epoch.
  [[nodiscard]] ThreadId owner(Epoch epoch) const;

  [[nodiscard]] std::uint32_t slots() const { return static_cast<std::uint32_t>(owners_.size()); }

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

  ThreadClock& make_root(ThreadId id);
  ThreadClock& start(ThreadId id, ThreadSlot slot, const VectorClock& inherited);
  void fork(ThreadClock& self, ThreadId child);
  void join(ThreadClock& self, ThreadId child);
  void retire(ThreadClock& thread, std::uint8_t reason);
  ThreadSlot slot_for_child_of(const ThreadClock& parent);
  ThreadSlot fresh_slot();

  ReleaseSequences release_sequences_;
  PagedTable<std::unique_ptr<ThreadClock>> threads_;  // by ThreadId
  PagedTable<std::uint8_t> retired_;                  // by ThreadId
  std::vector<std::vector<Tenure>> owners_;           // by ThreadSlot, rising clocks
  std::vector<Epoch> ended_;                          // last epochs of slots that may be continued

  FlatMap<LockClock> locks_;
  BarrierClocks barriers_;
  FlatMap<SyncClock> semaphores_;
  FlatMap<SyncClock> onces_;
  FlatMap<SyncClock> tags_;
  FlatMap<AtomicClock> atomics_;
};

}  // namespace deadheat
