// SPDX-License-Identifier: Apache-2.0
// Sync clocks: what a synchronisation object hands from one thread to another.
//
// A releasing thread leaves its vector clock at the object, an acquiring thread
// joins it into its own. What differs between objects is how releases combine:
//
//   SyncClock     every release adds to what is there (semaphores, annotations,
//                 once flags, one side of a lock).
//   LockClock     an exclusive acquire sees all earlier releases, a shared one
//                 only the exclusive ones: readers do not order each other.
//   AtomicClock   C++ release sequences: a store starts anew, an RMW continues.
//
// How a clock is kept is one decision, what an object does with it another. Lock,
// barrier and atomic clocks are written for any family of clocks (Clocks): a type
// with a Sync (empty, clear, release) and a Thread (acquire, release, copy_to,
// knows, fence, ...), with the meanings that BasicSyncClock and BasicThreadClock
// give them here. This family copies clocks; PACER's (pacer_clock.h) shares them.
//
// Releases are O(threads) copies. Acquires are O(1) in the common case that the
// thread knows the release already: a thread's clock advances right after each
// release, so the release at epoch c@t is contained in every clock C with
// C[t] >= c, and one comparison answers what a join would find out.
//
// Nothing here is synchronised; callers hold whatever protects the object.
#pragma once

#include <cstdint>
#include <utility>

#include "base/growable_array.h"
#include "core/epoch.h"
#include "core/vector_clock.h"
#include "model/event.h"
#include "model/identity.h"

namespace deadheat {

// C++20 cuts a release sequence at any store that is not an RMW; C++11 to 17
// let further stores of the releasing thread continue it.
enum class ReleaseSequences : std::uint8_t { kCpp11, kCpp20 };

template <class Source = HeapSource>
class BasicSyncClock {
 public:
  using Vector = BasicVectorClock<Source>;

  [[nodiscard]] bool empty() const { return clock_.empty(); }
  [[nodiscard]] const Vector& clock() const { return clock_; }

  // True only if everything here is contained in `seen`. Exact while the clock
  // is the copy of a single release, otherwise false means "not known cheaply".
  [[nodiscard]] bool known_to(const Vector& seen) const {
    return empty() || (!source_.is_empty() && happened_before(source_, seen));
  }

  void acquire_into(Vector& seen) const {
    if (!known_to(seen)) seen.join(clock_);
  }

  // Adds a release: `clock` as it was in the epoch `at`, which ends with it.
  void release(const Vector& clock, Epoch at) {
    const bool covered = source_.is_empty() ? clock_.is_before(clock) : happened_before(source_, clock);
    if (covered) return replace(clock, at);
    clock_.join(clock);
    source_ = Epoch{};
  }

  // Adds a release that another object already holds.
  void release(const BasicSyncClock& other) {
    if (other.empty()) return;
    if (other.source_.is_empty()) {
      clock_.join(other.clock_);
      source_ = Epoch{};
      return;
    }
    release(other.clock_, other.source_);
  }

  // Forgets what was there: a release after which only itself is visible.
  void replace(const Vector& clock, Epoch at) {
    clock_ = clock;
    source_ = at;
  }

  void clear() {
    clock_.clear();
    source_ = Epoch{};
  }

 private:
  Vector clock_;
  Epoch source_;  // not empty: clock_ is exactly what this thread had in this epoch
};

// The clocks of one thread.
template <class Source = HeapSource>
class BasicThreadClock {
 public:
  using Vector = BasicVectorClock<Source>;

  // A thread that starts knowing `inherited` and continues `slot`, whose last
  // clock (0 if it is fresh) `inherited` contains.
  BasicThreadClock(ThreadId id, ThreadSlot slot, const Vector& inherited) : seen_(inherited), id_(id) {
    now_ = Epoch(slot, inherited.clock_of(slot) + 1);
    seen_.set(slot, now_.clock());
  }

  [[nodiscard]] ThreadId id() const { return id_; }
  [[nodiscard]] Epoch epoch() const { return now_; }
  [[nodiscard]] Clock clock_of(ThreadSlot slot) const { return seen_.clock_of(slot); }
  [[nodiscard]] const Vector& seen() const { return seen_; }

  // Learns what an object or another thread holds.
  void acquire(const BasicSyncClock<Source>& from) { from.acquire_into(seen_); }
  void acquire(const Vector& from) { seen_.join(from); }
  void acquire(const BasicThreadClock& other) { seen_.join(other.seen_); }
  // Whether an acquire would teach it nothing.
  [[nodiscard]] bool knows(const BasicSyncClock<Source>& from) const {
    return from.known_to(seen_) || from.clock().is_before(seen_);
  }

  // Publishes everything so far; what follows is a new epoch, not published.
  void release(BasicSyncClock<Source>& to) {
    to.release(seen_, now_);
    advance();
  }
  // The same for an object that shall hold nothing else; the epoch goes on.
  void copy_to(BasicSyncClock<Source>& to) const { to.replace(seen_, now_); }
  void advance() {
    now_ = Epoch(now_.slot(), now_.clock() + 1);
    seen_.set(now_.slot(), now_.clock());
  }

  // Goes on in another slot, after the clock `base` of it and all that is known
  // of it. Nobody else uses the slot.
  void move_to(ThreadSlot slot, Clock base) {
    const Clock known = seen_.clock_of(slot);
    now_ = Epoch(slot, (known < base ? base : known) + 1);
    seen_.set(slot, now_.clock());
  }

  // atomic_thread_fence. A release fence publishes through the relaxed stores
  // after it, so it keeps what they will hand on; an acquire fence takes effect
  // for the relaxed loads before it, which have gathered what they saw.
  void fence(MemoryOrder order) {
    if (acquires(order)) acquire(pending_acquire_);
    if (releases(order)) {
      copy_to(release_fence_);
      advance();
    }
  }
  [[nodiscard]] const BasicSyncClock<Source>& release_fence() const { return release_fence_; }
  void remember_for_acquire_fence(const BasicSyncClock<Source>& from) {
    if (!from.known_to(seen_)) pending_acquire_.release(from);
  }

  // The thread will do nothing more. From now on, who knows its epoch knows all of
  // its clock; here that is so anyway.
  void finish() {}

  // Gives the memory of an ended thread back; only id() and epoch() remain.
  void reset() {
    seen_.reset();
    release_fence_ = {};
    pending_acquire_ = {};
  }

 private:
  Vector seen_;
  Epoch now_;
  ThreadId id_;
  BasicSyncClock<Source> release_fence_;
  BasicSyncClock<Source> pending_acquire_;
};

// A family of clocks that copies them.
template <class Source = HeapSource>
struct CopiedClocks {
  using Sync = BasicSyncClock<Source>;
  using Thread = BasicThreadClock<Source>;
  template <class T>
  using Array = GrowableArray<T, Source>;

  // What the clocks of an execution have in common.
  struct Common {};
  static Thread root(Common& /*common*/, ThreadId id, ThreadSlot slot) { return {id, slot, {}}; }
  static Thread child(Common& /*common*/, ThreadId id, ThreadSlot slot, const Thread& parent) {
    return {id, slot, parent.seen()};
  }
};

template <class Clocks>
class LockClockOf {
 public:
  using Thread = typename Clocks::Thread;

  void acquire(Thread& thread, LockMode mode) const {
    thread.acquire(exclusive_);
    if (mode == LockMode::kExclusive) thread.acquire(shared_);
  }
  void release(Thread& thread, LockMode mode) {
    if (mode == LockMode::kShared) return thread.release(shared_);
    // The writer has normally seen the readers before it; then its own release
    // stands for theirs.
    if (!shared_.empty() && thread.knows(shared_)) shared_.clear();
    thread.release(exclusive_);
  }

 private:
  typename Clocks::Sync exclusive_;
  typename Clocks::Sync shared_;
};

// The release sequences that end in the current value of an atomic variable.
//
// A release store heads a sequence; RMWs by anybody continue it; any other
// store ends it, except that under kCpp11 a store continues the sequences that
// its own thread heads. An acquiring load joins the heads of all sequences the
// value belongs to. Several are possible: a release RMW continues the old ones
// and heads its own, and a relaxed store by one of the heads later must drop
// the others. So the heads are kept apart, but only while there are several,
// and their join is kept too: it is all that loads need. A relaxed store after
// a release fence heads a sequence with what the fence published.
template <class Clocks>
class AtomicClockOf {
 public:
  using Sync = typename Clocks::Sync;
  using Thread = typename Clocks::Thread;

  // A load, or the load half of an RMW, of the given order.
  void load(Thread& thread, MemoryOrder order) const {
    if (acquires(order)) return thread.acquire(all_);
    thread.remember_for_acquire_fence(all_);
  }

  void store(Thread& thread, MemoryOrder order, ReleaseSequences rule) {
    if (rule == ReleaseSequences::kCpp20) {
      all_.clear();
    } else {
      keep_only(thread.id());
    }
    publish(thread, order, rule);
  }

  // The store half of an RMW.
  void rmw_store(Thread& thread, MemoryOrder order, ReleaseSequences rule) { publish(thread, order, rule); }

 private:
  struct Head {
    ThreadId thread{};
    Sync clock;
  };

  void keep_only(ThreadId thread) {
    if (heads_.empty()) {
      if (sole_head_ != thread) all_.clear();
      return;
    }
    all_.clear();
    for (Head& head : heads_) {
      if (head.thread == thread) all_ = std::move(head.clock);
    }
    heads_.clear();
    sole_head_ = thread;
  }

  void publish(Thread& thread, MemoryOrder order, ReleaseSequences rule) {
    if (!releases(order) && thread.release_fence().empty()) return;
    Sync* own = rule == ReleaseSequences::kCpp20 ? nullptr : head_of(thread.id());
    if (!releases(order)) {
      all_.release(thread.release_fence());
      if (own != nullptr) own->release(thread.release_fence());
      return;
    }
    if (own != nullptr) thread.copy_to(*own);
    thread.release(all_);
  }

  // The thread's own entry where heads are kept apart; nullptr where all_ is
  // the thread's alone.
  Sync* head_of(ThreadId thread) {
    if (heads_.empty()) {
      if (all_.empty()) sole_head_ = thread;
      if (sole_head_ == thread) return nullptr;
      heads_.push_back(Head{sole_head_, all_});
    }
    for (Head& head : heads_) {
      if (head.thread == thread) return &head.clock;
    }
    return &heads_.push_back(Head{thread, {}}).clock;
  }

  Sync all_;
  ThreadId sole_head_{};  // whose sequence all_ is, while heads_ is empty and all_ is not
  typename Clocks::template Array<Head> heads_;
};

template <class Source = HeapSource>
using BasicLockClock = LockClockOf<CopiedClocks<Source>>;
template <class Source = HeapSource>
using BasicAtomicClock = AtomicClockOf<CopiedClocks<Source>>;

using SyncClock = BasicSyncClock<>;
using ThreadClock = BasicThreadClock<>;
using LockClock = BasicLockClock<>;
using AtomicClock = BasicAtomicClock<>;

}  // namespace deadheat
