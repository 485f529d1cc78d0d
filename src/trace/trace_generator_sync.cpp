// SPDX-License-Identifier: Apache-2.0
// Steps on synchronisation objects other than atomic variables.
#include <algorithm>

#include "base/check.h"
#include "trace/trace_generator_simulation.h"

namespace deadheat {

using namespace generator;

namespace {

constexpr std::size_t kMostHeld = 4;
constexpr std::uint16_t kMostDepth = 3;

}  // namespace

bool TraceGenerator::Simulation::step_lock(Slot slot, Event& event) {
  if (locks_.empty()) return false;
  Thread& thread = threads_[slot];
  if (!thread.held.empty() && (thread.held.size() >= kMostHeld || random_.below(2) == 0)) {
    // Mostly nested, but any order of release is legal.
    const std::size_t position = random_.below(4) == 0 ? pick(thread.held.size()) : thread.held.size() - 1;
    release_lock(slot, position, event);
    return true;
  }
  return acquire_lock(slot, pick(locks_.size()), event);
}

bool TraceGenerator::Simulation::acquire_lock(Slot slot, LockIndex index, Event& event) {
  Thread& thread = threads_[slot];
  Lock& lock = locks_[index];
  const SyncId id = sync_id(SyncFamily::kLock, index);
  const LockMode mode = lock.is_shared && random_.below(5) < 3 ? LockMode::kShared : LockMode::kExclusive;
  const LockAttempt attempt = random_.chance(options_.try_fraction) ? LockAttempt::kTry : LockAttempt::kBlocking;

  for (generator::HeldLock& held : thread.held) {
    if (held.lock != index) continue;
    // Read locks nest as recursive mutexes do; nothing else may be taken twice.
    const bool nests = lock.is_recursive || (held.mode == LockMode::kShared && mode == LockMode::kShared);
    if (!nests || held.depth >= kMostDepth) return false;
    event = events::acquire(thread.id, id, held.mode, ++held.depth, attempt);
    return true;
  }
  const bool available = lock.owner == kNobody && (mode == LockMode::kShared || lock.readers == 0);
  if (!available) {
    if (attempt != LockAttempt::kTry) return false;
    event = events::try_failed(thread.id, id, mode);
    return true;
  }
  if (mode == LockMode::kShared) {
    ++lock.readers;
  } else {
    lock.owner = slot;
  }
  thread.held.push_back({index, mode, 1});
  if (!lock.items.empty()) turn_to(thread, lock.items[pick(lock.items.size())]);
  event = events::acquire(thread.id, id, mode, 1, attempt);
  return true;
}

void TraceGenerator::Simulation::release_lock(Slot slot, std::size_t position, Event& event) {
  Thread& thread = threads_[slot];
  generator::HeldLock& held = thread.held[position];
  Lock& lock = locks_[held.lock];
  event = events::release(thread.id, sync_id(SyncFamily::kLock, held.lock), held.mode, held.depth);
  if (--held.depth > 0) return;
  if (held.mode == LockMode::kShared) {
    --lock.readers;
  } else {
    lock.owner = kNobody;
  }
  thread.held.erase(thread.held.begin() + static_cast<std::ptrdiff_t>(position));
}

bool TraceGenerator::Simulation::step_condition(Slot slot, Event& event) {
  Thread& thread = threads_[slot];
  const std::uint32_t index = pick(conditions_.size());
  Condition& condition = conditions_[index];
  const SyncId id = sync_id(SyncFamily::kCondition, index);
  const std::uint64_t choice = random_.below(8);
  if (choice < 2) {
    event = events::on_sync(choice == 0 ? EventKind::kCondSignal : EventKind::kCondBroadcast, thread.id, id);
    return true;
  }
  // With one lock only: a waiting thread holds none, so nobody waits for it.
  if (thread.held.size() != 1 || thread.held[0].depth != 1 || thread.held[0].mode != LockMode::kExclusive) return false;
  const LockIndex mutex = thread.held[0].lock;
  if (condition.waiters > 0 && condition.mutex != mutex) return false;
  ++condition.waiters;
  condition.mutex = mutex;
  ++locks_[mutex].waiters;
  locks_[mutex].owner = kNobody;
  thread.held.clear();
  thread.activity = Activity::kWaiting;
  thread.wait_object = index;
  thread.wait_mutex = mutex;
  --ready_;
  event = events::wait_begin(thread.id, id, sync_id(SyncFamily::kLock, mutex));
  return true;
}

// Wake-ups may be spurious, so a free mutex is all that the end of a wait needs.
bool TraceGenerator::Simulation::end_wait(Slot slot, Event& event) {
  Thread& thread = threads_[slot];
  Lock& lock = locks_[thread.wait_mutex];
  if (lock.owner != kNobody || lock.readers > 0) return false;
  lock.owner = slot;
  --lock.waiters;
  --conditions_[thread.wait_object].waiters;
  thread.held.push_back({thread.wait_mutex, LockMode::kExclusive, 1});
  thread.activity = Activity::kReady;
  ++ready_;
  event = events::wait_end(thread.id, sync_id(SyncFamily::kCondition, thread.wait_object),
                           sync_id(SyncFamily::kLock, thread.wait_mutex));
  return true;
}

bool TraceGenerator::Simulation::step_barrier(Slot slot, Event& event) {
  Thread& thread = threads_[slot];
  if (!thread.held.empty() || ready_ < 2) return false;
  const std::uint32_t index = pick(barriers_.size());
  Barrier& barrier = barriers_[index];
  BarrierPhase& phase = barrier.phases[barrier.phase % 2];
  if (phase.inside == 0) phase.wanted = 2 + pick(live_.size() - 1);
  ++phase.inside;
  permissions_.send(slot, phase.mail, random_);
  thread.activity = Activity::kAtBarrier;
  thread.wait_object = index;
  thread.wait_phase = barrier.phase;
  --ready_;
  event = events::barrier(EventKind::kBarrierArrive, thread.id, sync_id(SyncFamily::kBarrier, index), barrier.phase);
  return true;
}

bool TraceGenerator::Simulation::leave_barrier(Slot slot, Event& event) {
  Thread& thread = threads_[slot];
  Barrier& barrier = barriers_[thread.wait_object];
  BarrierPhase& phase = barrier.phases[thread.wait_phase % 2];
  if (barrier.phase == thread.wait_phase) {
    const bool complete = phase.inside >= phase.wanted || ready_ == 0 || winding_down_ || random_.below(16) == 0;
    const bool next_is_free = barrier.phases[(barrier.phase + 1) % 2].inside == 0;
    if (!complete || !next_is_free) return false;
    ++barrier.phase;
  }
  turn_to(thread, permissions_.receive(slot, phase.mail, random_));
  if (--phase.inside == 0) permissions_.recall(phase.mail);
  thread.activity = Activity::kReady;
  ++ready_;
  event = events::barrier(EventKind::kBarrierLeave, thread.id, sync_id(SyncFamily::kBarrier, thread.wait_object),
                          thread.wait_phase);
  return true;
}

bool TraceGenerator::Simulation::step_semaphore(Slot slot, Event& event) {
  Thread& thread = threads_[slot];
  const std::uint32_t index = pick(semaphores_.size());
  Semaphore& semaphore = semaphores_[index];
  const SyncId id = sync_id(SyncFamily::kSemaphore, index);
  if (semaphore.count > 0 && random_.below(semaphore.mail.empty() ? 2 : 4) != 0) {
    --semaphore.count;
    turn_to(thread, permissions_.receive(slot, semaphore.mail, random_));
    event = events::on_sync(EventKind::kSemaphoreWait, thread.id, id);
    return true;
  }
  ++semaphore.count;
  permissions_.send(slot, semaphore.mail, random_);
  event = events::on_sync(EventKind::kSemaphorePost, thread.id, id);
  return true;
}

bool TraceGenerator::Simulation::step_once(Slot slot, Event& event) {
  Thread& thread = threads_[slot];
  const std::uint32_t index = pick(onces_.size());
  Once& once = onces_[index];
  const SyncId id = sync_id(SyncFamily::kOnce, index);
  if (once.done) {
    turn_to(thread, permissions_.receive(slot, once.mail, random_));
  } else {
    permissions_.send(slot, once.mail, random_);
  }
  event = events::on_sync(once.done ? EventKind::kOnceObserve : EventKind::kOnceComplete, thread.id, id);
  once.done = true;
  return true;
}

// A new lock of the same number orders nothing after the old one, so a lock
// that guards something stays, unless the discipline is being ignored.
bool TraceGenerator::Simulation::forget_lock(LockIndex index) {
  const Lock& lock = locks_[index];
  if (lock.owner != kNobody || lock.readers > 0 || lock.waiters > 0) return false;
  return lock.items.empty() || is_lawless();
}

bool TraceGenerator::Simulation::step_destroy(Slot slot, Event& event) {
  if (options_.sync_numbers == SyncNumbers::kOverlapping) return false;
  const auto family = static_cast<SyncFamily>(random_.below(5));
  const std::uint32_t index =
      pick(family == SyncFamily::kLock ? std::max<std::size_t>(locks_.size(), 1) : conditions_.size());
  switch (family) {
    case SyncFamily::kLock:
      if (locks_.empty() || !forget_lock(index)) return false;
      break;
    case SyncFamily::kCondition:
      if (conditions_[index].waiters > 0) return false;
      break;
    case SyncFamily::kBarrier:
      if (barriers_[index].phases[0].inside + barriers_[index].phases[1].inside > 0) return false;
      barriers_[index].phase = 0;
      break;
    case SyncFamily::kSemaphore:
      permissions_.recall(semaphores_[index].mail);
      semaphores_[index].count = 0;
      break;
    case SyncFamily::kOnce:
      permissions_.recall(onces_[index].mail);
      onces_[index].done = false;
      break;
    case SyncFamily::kTag:
      return false;
  }
  event = events::on_sync(EventKind::kSyncDestroy, threads_[slot].id, sync_id(family, index));
  return true;
}

}  // namespace deadheat
