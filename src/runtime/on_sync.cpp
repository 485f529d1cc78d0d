// SPDX-License-Identifier: Apache-2.0
#include "runtime/on_sync.h"

#include "runtime/access_check.h"
#include "runtime/footprints.h"
#include "runtime/foreign_code.h"
#include "runtime/lock_records.h"
#include "runtime/races.h"
#include "runtime/record.h"
#include "runtime/sampling.h"
#include "runtime/scheduling.h"
#include "runtime/start.h"
#include "runtime/sync_table.h"
#include "runtime/thread_registry.h"
#include "runtime/unseen_locks.h"

namespace deadheat::runtime {
namespace {

bool is_off() { return detection_is_off.load(std::memory_order_relaxed); }

SyncId sync_id(Address object) { return SyncId{object}; }

// `what` is a set of raw_report::kEnds...
Event end_of_object(const ThreadState& self, Address object, std::uint64_t what) {
  Event event = events::on_sync(EventKind::kSyncDestroy, self.clock.id(), sync_id(object));
  event.extent = what;
  return event;
}

HeldLockState* find_held(ThreadState& self, Address lock) {
  for (std::uint32_t index = self.held.size(); index-- > 0;) {
    if (self.held[index].lock == lock) return &self.held[index];
  }
  return nullptr;
}

void push_held(ThreadState& self, const LockObject& object, LockMode mode) {
  HeldLockState held;
  held.lock = object.address;
  held.serial = object.serial;
  held.mode = mode;
  held.created_stack = object.created_stack;
  self.held.push_back(held);
  publish_locks(self, self.held.size() - 1);
}

void drop_held(ThreadState& self, const HeldLockState* held) {
  const auto index = static_cast<std::uint32_t>(held - self.held.begin());
  self.held.erase(index);
  publish_locks(self, index);  // the sets of those acquired after it have changed
}

// With the stripe's lock held.
LockObject& lock_object(ThreadState& self, Address lock, Address code) {
  if (LockObject* known = sync_table().find<LockObject>(lock)) return *known;
  LockObject& fresh = sync_table().get<LockObject>(lock);
  fresh.created_stack = current_stack(self, code);
  fresh.serial = add_lock_record(lock, fresh.created_stack);
  return fresh;
}

// Using a lock reads it, in a way that only its creation, its destruction and the
// end of its memory conflict with.
void touch_lock(ThreadState& self, Address lock, AccessKind kind, Address code) {
  if (is_of_ordering_library(code)) [[unlikely]]
    return;  // a lock of a library that knows when to end it
  check_atomic(self, kind, lock, 1, code);
}

// The lock was given up by another thread than its holder: not allowed, but it
// happens, and works on Linux.
bool is_stale(const ThreadState& self, const HeldLockState& held) {
  if (held.mode == LockMode::kShared) return false;
  SpinHolder hold(sync_table().stripe(held.lock));
  const LockObject* object = sync_table().find<LockObject>(held.lock);
  return object == nullptr || object->owner != thread_number(self);
}

void acquire_lock(ThreadState& self, Address lock, LockMode mode, Address code) {
  settle_footprints(self);
  SpinHolder hold(sync_table().stripe(lock));
  LockObject& object = lock_object(self, lock, code);
  push_held(self, object, mode);
  if (mode == LockMode::kExclusive) object.owner = thread_number(self);
  if (self.ignore.ignores_sync()) return;
  SpinHolder hold_clock(self.clock_lock);
  object.clock.acquire(self.clock, mode);
}

void release_lock(ThreadState& self, Address lock, LockMode mode, Address code) {
  settle_footprints(self);
  {
    SpinHolder hold(sync_table().stripe(lock));
    LockObject& object = lock_object(self, lock, code);
    self.owner_before = object.owner;
    object.owner = 0;
    if (self.ignore.ignores_sync()) return;
    object.clock.release(self.clock, mode);
  }
  advance(self);
}

// What the current thread does to locks is let pass (unchecked_code.h).
[[nodiscard]] bool is_let_pass() { return peek(current.runs_unchecked) != 0 && current.inside == 0; }

// A lock that is taken while nothing is recorded is not looked up, and has no name until
// somebody needs it: name_held_locks().
void hold_unnamed(ThreadState& self, Address lock, LockMode mode) {
  if (HeldLockState* held = find_held(self, lock)) [[unlikely]] {
    ++held->depth;
    return;
  }
  HeldLockState fresh;
  fresh.lock = lock;
  fresh.mode = mode;
  self.held.push_back(fresh);
  self.sampling.has_unnamed_locks = true;
}
void drop_unnamed(ThreadState& self, Address lock) {
  HeldLockState* held = find_held(self, lock);
  self.owner_before = held != nullptr && held->mode == LockMode::kExclusive ? thread_number(self) : 0;
  if (held == nullptr || --held->depth != 0) [[unlikely]]
    return;
  if (held + 1 == self.held.end()) [[likely]]
    return self.held.pop_back();
  self.held.erase(static_cast<std::uint32_t>(held - self.held.begin()));
  self.sampling.has_unnamed_locks = true;  // those behind it have other sets
}

// What unseen_locks.h does, and the cases that it leaves over.
void hold_while_unseen(ThreadState& self, Address lock, LockMode mode) {
  if (hold_unseen(lock, mode)) return;
  RuntimeScope scope;
  adopt_unseen_locks(self);
  hold_unnamed(self, lock, mode);
}
void drop_while_unseen(ThreadState& self, Address lock) {
  self.owner_before = thread_number(self);
  if (drop_unseen(lock)) return;
  RuntimeScope scope;
  adopt_unseen_locks(self);
  drop_unnamed(self, lock);
}

void release_tag(ThreadState& self, Address tag) {
  if (self.ignore.ignores_sync()) return;
  settle_footprints(self);
  {
    SpinHolder hold(sync_table().stripe(tag));
    self.clock.release(sync_table().get<TagObject>(tag).clock);
  }
  advance(self);
}

void acquire_tag(ThreadState& self, Address tag) {
  if (self.ignore.ignores_sync() || sync_table().is_surely_absent(tag)) return;
  settle_footprints(self);
  SpinHolder hold(sync_table().stripe(tag));
  const TagObject* object = sync_table().find<TagObject>(tag);
  if (object == nullptr) return;
  SpinHolder hold_clock(self.clock_lock);
  self.clock.acquire(object->clock);
}

void leave_phase(BarrierPhaseClock* phase) {
  if (--phase->users != 0) return;
  phase->~BarrierPhaseClock();
  PageSource::release(phase, sizeof(BarrierPhaseClock));
}

}  // namespace

void adopt_unseen_locks(ThreadState& self) {
  UnseenLocks& unseen = self.unseen_locks;
  for (std::uint32_t index = 0; index < unseen.count; ++index) {
    const Address lock = unseen.locks[index];
    const LockMode mode = (lock & UnseenLocks::kShared) != 0 ? LockMode::kShared : LockMode::kExclusive;
    hold_unnamed(self, lock & ~UnseenLocks::kShared, mode);
  }
  unseen.count = 0;
}

void name_held_locks(ThreadState& self) {
  self.sampling.has_unnamed_locks = false;
  for (HeldLockState& held : self.held) {
    if (held.serial != 0) continue;
    SpinHolder hold(sync_table().stripe(held.lock));
    LockObject& object = lock_object(self, held.lock, 0);
    held.serial = object.serial;
    held.created_stack = object.created_stack;
    // Nobody has watched whether another thread gave it up: is_stale() is to say yes, so
    // that taking it again orders something.
    object.owner = 0;
  }
  publish_locks(self, 0);
}

void on_lock_created(ThreadState& self, Address lock, Address code) {
  if (is_off()) return;
  RuntimeScope scope;
  if (is_scheduled) schedule_new_lock(lock);
  const SamplingEvent event(self);
  const RecordedStep step(self, events::write(self.clock.id(), lock, 1), code);
  touch_lock(self, lock, AccessKind::kWrite, code);
  if (is_recording()) record_more(end_of_object(self, lock, raw_report::kEndsLock), code);
  SpinHolder hold(sync_table().stripe(lock));
  sync_table().erase(lock, SyncKind::kLock);
  static_cast<void>(lock_object(self, lock, code));
}

void on_lock_destroyed(ThreadState& self, Address lock, Address code) {
  if (is_off()) return;
  RuntimeScope scope;
  if (is_scheduled) schedule_new_lock(lock);
  const SamplingEvent event(self);
  const RecordedStep step(self, events::write(self.clock.id(), lock, 1), code);
  if (is_recording()) record_more(end_of_object(self, lock, raw_report::kEndsLock), code);
  touch_lock(self, lock, AccessKind::kWrite, code);
  if (const HeldLockState* held = find_held(self, lock)) drop_held(self, held);
  SpinHolder hold(sync_table().stripe(lock));
  sync_table().erase(lock, SyncKind::kLock);
}

void on_lock_acquired(ThreadState& self, Address lock, LockMode mode, LockAttempt attempt, Address code) {
  if (is_off()) return;
  if (is_let_pass()) {
    note_progress();
    return hold_while_unseen(self, lock, mode);
  }
  RuntimeScope scope;
  const SamplingEvent event(self);
  HeldLockState* held = find_held(self, lock);
  if (held != nullptr && is_stale(self, *held)) {
    drop_held(self, held);
    held = nullptr;
  }
  const auto depth = static_cast<std::uint16_t>(held == nullptr ? 1 : held->depth + 1);
  const Event acquire = events::acquire(self.clock.id(), sync_id(lock), mode, depth, attempt);
  if (held != nullptr) {
    const RecordedStep step(self, acquire, code);
    ++held->depth;
    if (is_scheduled) schedule_no_lock(self);  // it had it
    return;
  }
  // Before what the lock orders: its creation must be ordered by something else.
  Event touch = events::atomic(EventKind::kAtomicLoad, self.clock.id(), lock, 1, MemoryOrder::kRelaxed);
  touch.depth = 1;  // hands on no order
  const RecordedStep step(self, touch, code);
  note_progress();
  touch_lock(self, lock, AccessKind::kAtomicRead, code);
  if (is_recording()) record_more(acquire, code);
  acquire_lock(self, lock, mode, code);
  if (is_scheduled) schedule_acquired(self, lock, mode);
}

void on_lock_try_failed(ThreadState& self, Address lock, LockMode mode, Address code) {
  if (is_off() || !is_recording()) return;
  RuntimeScope scope;
  const SamplingEvent event(self);
  const RecordedStep step(self, events::try_failed(self.clock.id(), sync_id(lock), mode), code);
}

void on_lock_releasing(ThreadState& self, Address lock, Address code) {
  if (is_off()) return;
  if (is_let_pass()) return drop_while_unseen(self, lock);
  RuntimeScope scope;
  const SamplingEvent event(self);
  HeldLockState* held = find_held(self, lock);
  const LockMode mode = held == nullptr ? LockMode::kExclusive : held->mode;
  const auto depth = static_cast<std::uint16_t>(held == nullptr ? 1 : held->depth);
  const RecordedStep step(self, events::release(self.clock.id(), sync_id(lock), mode, depth), code);
  if (depth > 1) {
    --held->depth;
    return;
  }
  if (held != nullptr) drop_held(self, held);
  if (is_scheduled) schedule_released(self, lock);
  release_lock(self, lock, mode, code);
}

void on_lock_release_failed(ThreadState& self, Address lock, Address code) {
  if (is_off()) return;
  RuntimeScope scope;
  const SamplingEvent event(self);
  if (HeldLockState* held = find_held(self, lock)) {
    const auto depth = static_cast<std::uint16_t>(++held->depth);
    const RecordedStep step(self, events::acquire(self.clock.id(), sync_id(lock), held->mode, depth), code);
    return;
  }
  const RecordingHold recorded;
  if (self.owner_before == thread_number(self)) {
    recorded.write(events::acquire(self.clock.id(), sync_id(lock)), code);
    return acquire_lock(self, lock, LockMode::kExclusive, code);
  }
  // It was not the thread's to release: who held it still does.
  SpinHolder hold(sync_table().stripe(lock));
  LockObject& object = lock_object(self, lock, code);
  if (object.owner == 0) object.owner = self.owner_before;
}

void on_wait_beginning(ThreadState& self, Address condition, Address mutex, Address code) {
  if (is_off()) return;
  if (is_let_pass()) return drop_while_unseen(self, mutex);
  RuntimeScope scope;
  const SamplingEvent event(self);
  const RecordedStep step(self, events::wait_begin(self.clock.id(), sync_id(condition), sync_id(mutex)), code);
  if (const HeldLockState* held = find_held(self, mutex)) drop_held(self, held);
  if (is_scheduled) schedule_released(self, mutex);
  release_lock(self, mutex, LockMode::kExclusive, code);
}

void on_wait_finished(ThreadState& self, Address condition, Address mutex, Address code) {
  if (is_off()) return;
  if (is_let_pass()) return hold_while_unseen(self, mutex, LockMode::kExclusive);
  RuntimeScope scope;
  const SamplingEvent event(self);
  const RecordedStep step(self, events::wait_end(self.clock.id(), sync_id(condition), sync_id(mutex)), code);
  acquire_lock(self, mutex, LockMode::kExclusive, code);
  if (is_scheduled) schedule_acquired(self, mutex, LockMode::kExclusive);
}

void on_signalling(ThreadState& self, Address condition, Address code) {
  if (is_off() || !is_recording()) return;
  RuntimeScope scope;
  const SamplingEvent event(self);
  const RecordedStep step(self, events::on_sync(EventKind::kCondSignal, self.clock.id(), sync_id(condition)), code);
}

void on_broadcasting(ThreadState& self, Address condition, Address code) {
  if (is_off() || !is_recording()) return;
  RuntimeScope scope;
  const SamplingEvent event(self);
  const RecordedStep step(self, events::on_sync(EventKind::kCondBroadcast, self.clock.id(), sync_id(condition)), code);
}

void on_barrier_created(ThreadState& self, Address barrier, std::uint32_t count, Address code) {
  if (is_off()) return;
  RuntimeScope scope;
  const SamplingEvent event(self);
  const RecordedStep step(self, end_of_object(self, barrier, raw_report::kEndsOthers), code);
  SpinHolder hold(sync_table().stripe(barrier));
  sync_table().erase(barrier, SyncKind::kBarrier);
  sync_table().get<BarrierObject>(barrier).count = count;
}

BarrierPhase on_barrier_arriving(ThreadState& self, Address barrier, Address code) {
  if (is_off()) return {};
  RuntimeScope scope;
  const SamplingEvent event(self);
  BarrierPhase result;
  settle_footprints(self);
  {
    const RecordingHold recorded;
    SpinHolder hold(sync_table().stripe(barrier));
    BarrierObject& object = sync_table().get<BarrierObject>(barrier);
    recorded.write(events::barrier(EventKind::kBarrierArrive, self.clock.id(), sync_id(barrier), object.phase), code);
    if (object.current == nullptr) {
      object.current = new (PageSource::allocate(sizeof(BarrierPhaseClock))) BarrierPhaseClock;
      object.current->users = 1;
    }
    ++object.current->users;
    result = {object.phase, object.current};
    if (!self.ignore.ignores_sync()) self.clock.release(object.current->clock);
    if (++object.arrived >= object.count) {
      leave_phase(object.current);
      object.current = nullptr;
      object.arrived = 0;
      ++object.phase;
    }
  }
  advance(self);
  return result;
}

void on_barrier_left(ThreadState& self, Address barrier, BarrierPhase phase, Address code) {
  if (is_off() || phase.clock == nullptr) return;
  RuntimeScope scope;
  const SamplingEvent event(self);
  const RecordedStep step(
      self, events::barrier(EventKind::kBarrierLeave, self.clock.id(), sync_id(barrier), phase.number), code);
  settle_footprints(self);
  SpinHolder hold(sync_table().stripe(barrier));
  auto* clock = static_cast<BarrierPhaseClock*>(phase.clock);
  if (!self.ignore.ignores_sync()) {
    SpinHolder hold_clock(self.clock_lock);
    self.clock.acquire(clock->clock);
  }
  leave_phase(clock);
}

void on_semaphore_posting(ThreadState& self, Address semaphore, Address code) {
  if (is_off()) return;
  RuntimeScope scope;
  const SamplingEvent event(self);
  const RecordedStep step(self, events::on_sync(EventKind::kSemaphorePost, self.clock.id(), sync_id(semaphore)), code);
  release_tag(self, semaphore);
}

void on_semaphore_waited(ThreadState& self, Address semaphore, Address code) {
  if (is_off()) return;
  RuntimeScope scope;
  const SamplingEvent event(self);
  const RecordedStep step(self, events::on_sync(EventKind::kSemaphoreWait, self.clock.id(), sync_id(semaphore)), code);
  acquire_tag(self, semaphore);
}

void on_once_completing(ThreadState& self, Address flag, Address code) {
  if (is_off()) return;
  RuntimeScope scope;
  const SamplingEvent event(self);
  const RecordedStep step(self, events::on_sync(EventKind::kOnceComplete, self.clock.id(), sync_id(flag)), code);
  release_tag(self, flag);
}

void on_once_observed(ThreadState& self, Address flag, Address code) {
  if (is_off()) return;
  RuntimeScope scope;
  const SamplingEvent event(self);
  const RecordedStep step(self, events::on_sync(EventKind::kOnceObserve, self.clock.id(), sync_id(flag)), code);
  acquire_tag(self, flag);
}

void on_happens_before(ThreadState& self, Address tag, Address code) {
  if (is_off()) return;
  RuntimeScope scope;
  const SamplingEvent event(self);
  const RecordedStep step(self, events::on_sync(EventKind::kHappensBefore, self.clock.id(), sync_id(tag)), code);
  release_tag(self, tag);
}

void on_happens_after(ThreadState& self, Address tag, Address code) {
  if (is_off()) return;
  RuntimeScope scope;
  const SamplingEvent event(self);
  const RecordedStep step(self, events::on_sync(EventKind::kHappensAfter, self.clock.id(), sync_id(tag)), code);
  acquire_tag(self, tag);
}

void on_sync_destroyed(ThreadState& self, Address object, Address code) {
  if (is_off()) return;
  RuntimeScope scope;
  const SamplingEvent event(self);
  const RecordedStep step(self, end_of_object(self, object, raw_report::kEndsOthers), code);
  SpinHolder hold(sync_table().stripe(object));
  sync_table().erase(object, SyncKind::kTag);
  sync_table().erase(object, SyncKind::kBarrier);
}

void on_fence(ThreadState& self, MemoryOrder order, Address code) {
  if (is_off() || self.ignore.ignores_sync()) return;
  RuntimeScope scope;
  const SamplingEvent event(self);
  settle_footprints(self);
  const RecordedStep step(self, events::fence(self.clock.id(), order), code);
  {
    SpinHolder hold_clock(self.clock_lock);
    self.clock.fence(order);
  }
  advance(self);
}

void on_ignore_begin(ThreadState& self, Ignore what, Address code) {
  if (is_off()) return;
  RuntimeScope scope;
  const SamplingEvent event(self);
  const RecordedStep step(self, events::ignore(EventKind::kIgnoreBegin, self.clock.id(), what), code);
  self.ignore.begin(what);
  publish_epoch(self);
}

void on_ignore_end(ThreadState& self, Ignore what, Address code) {
  if (is_off()) return;
  RuntimeScope scope;
  const SamplingEvent event(self);
  const RecordedStep step(self, events::ignore(EventKind::kIgnoreEnd, self.clock.id(), what), code);
  self.ignore.end(what);
  publish_epoch(self);
}

void on_benign_range(ThreadState& self, Address address, std::uint64_t size, Address code) {
  if (is_off() || size == 0) return;
  RuntimeScope scope;
  const SamplingEvent event(self);
  const RecordedStep step(self, events::on_range(EventKind::kBenignRange, self.clock.id(), address, size), code);
  add_benign_range(address, size);
}

}  // namespace deadheat::runtime
