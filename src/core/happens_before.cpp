// SPDX-License-Identifier: Apache-2.0
#include "core/happens_before.h"

#include <algorithm>
#include <utility>

#include "core/pacer_clock.h"

namespace deadheat {

template <class Clocks>
void BasicHappensBefore<Clocks>::apply(Thread& self, const Event& event) {
  switch (event.kind) {
    case EventKind::kLockAcquire:
      if (event.is_outermost()) locks_[event.object].acquire(self, event.lock_mode());
      return;
    case EventKind::kLockRelease:
      if (event.is_outermost()) locks_[event.object].release(self, event.lock_mode());
      return;
    case EventKind::kCondWaitBegin:
      return locks_[raw(event.mutex())].release(self, LockMode::kExclusive);
    case EventKind::kCondWaitEnd:
      return locks_[raw(event.mutex())].acquire(self, LockMode::kExclusive);
    case EventKind::kBarrierArrive:
      return barriers_.arrive(self, event.sync(), event.phase());
    case EventKind::kBarrierLeave:
      return barriers_.leave(self, event.sync(), event.phase());
    case EventKind::kSemaphorePost:
      return self.release(semaphores_[event.object]);
    case EventKind::kSemaphoreWait:
      return self.acquire(semaphores_[event.object]);
    case EventKind::kOnceComplete:
      return self.release(onces_[event.object]);
    case EventKind::kOnceObserve:
      return self.acquire(onces_[event.object]);
    case EventKind::kHappensBefore:
      return self.release(tags_[event.object]);
    case EventKind::kHappensAfter:
      return self.acquire(tags_[event.object]);
    case EventKind::kFence:
      return self.fence(event.order());
    case EventKind::kSyncDestroy:
      locks_.erase(event.object);
      barriers_.destroy(event.sync());
      semaphores_.erase(event.object);
      onces_.erase(event.object);
      return;
    case EventKind::kFork:
      return fork(self, event.other_thread());
    case EventKind::kJoin:
      return join(self, event.other_thread());
    case EventKind::kDetach:
      return retire(thread(event.other_thread()), kDetached);
    case EventKind::kThreadExit:
      return retire(self, kExited);
    default:
      return;
  }
}

template <class Clocks>
void BasicHappensBefore<Clocks>::atomic_acquire(Thread& self, const Event& event) {
  if (const AtomicClock* atomic = atomics_.find(event.address())) atomic->load(self, event.order());
}

template <class Clocks>
void BasicHappensBefore<Clocks>::atomic_release(Thread& self, const Event& event) {
  if (event.kind == EventKind::kAtomicStore) {
    atomics_[event.address()].store(self, event.order(), release_sequences_);
  } else {
    atomics_[event.address()].rmw_store(self, event.order(), release_sequences_);
  }
}

template <class Clocks>
void BasicHappensBefore<Clocks>::forget_atomics(Address address, std::uint64_t size) {
  if (size <= atomics_.size()) {
    for (std::uint64_t offset = 0; offset < size; ++offset) atomics_.erase(address + offset);
    return;
  }
  std::vector<Address> gone;
  atomics_.for_each([&](Address at, const AtomicClock&) {
    if (at - address < size) gone.push_back(at);
  });
  for (const Address at : gone) atomics_.erase(at);
}

template <class Clocks>
ThreadId BasicHappensBefore<Clocks>::owner(Epoch epoch) const {
  const std::vector<Tenure>& tenures = owners_[raw(epoch.slot())];
  auto next = std::upper_bound(tenures.begin(), tenures.end(), epoch.clock(),
                               [](Clock clock, const Tenure& tenure) { return clock < tenure.first; });
  DEADHEAT_CHECK(next != tenures.begin());
  return std::prev(next)->thread;
}

template <class Clocks>
typename BasicHappensBefore<Clocks>::Thread& BasicHappensBefore<Clocks>::make_root(ThreadId id) {
  return start(Clocks::root(common_, id, fresh_slot()));
}

template <class Clocks>
typename BasicHappensBefore<Clocks>::Thread& BasicHappensBefore<Clocks>::start(Thread thread) {
  const Epoch first = thread.epoch();
  const ThreadId id = thread.id();
  owners_[raw(first.slot())].push_back(Tenure{first.clock(), id});
  std::unique_ptr<Thread>& known = threads_[raw(id)];
  known = std::make_unique<Thread>(std::move(thread));
  return *known;
}

template <class Clocks>
void BasicHappensBefore<Clocks>::fork(Thread& self, ThreadId child) {
  if (const std::unique_ptr<Thread>& known = threads_[raw(child)]; known != nullptr) {
    known->acquire(self);  // it was taken for a root before
  } else {
    start(Clocks::child(common_, child, slot_for_child_of(self), self));
  }
  self.advance();
}

template <class Clocks>
void BasicHappensBefore<Clocks>::join(Thread& self, ThreadId child) {
  Thread& ended = thread(child);
  ended.finish();
  self.acquire(ended);
  retire(ended, kJoined);
}

// A thread that will be joined keeps its clock until then; a detached one is
// done when it has also exited.
template <class Clocks>
void BasicHappensBefore<Clocks>::retire(Thread& thread, std::uint8_t reason) {
  std::uint8_t& reasons = retired_[raw(thread.id())];
  const auto is_done = [](std::uint8_t seen) {
    return (seen & kJoined) != 0 || (seen & (kExited | kDetached)) == (kExited | kDetached);
  };
  if (is_done(reasons)) return;
  reasons |= reason;
  if (!is_done(reasons)) return;
  thread.finish();
  ended_.push_back(thread.epoch());
  thread.reset();
}

// Looks at the slots that ended most recently: a parent usually continues one
// that it has just joined. Giving up costs a component, not exactness.
template <class Clocks>
ThreadSlot BasicHappensBefore<Clocks>::slot_for_child_of(const Thread& parent) {
  constexpr std::size_t kTries = 64;
  const std::size_t count = ended_.size();
  for (std::size_t tried = 1; tried <= std::min(count, kTries); ++tried) {
    Epoch& candidate = ended_[count - tried];
    if (!happened_before(candidate, parent)) continue;
    const ThreadSlot slot = candidate.slot();
    candidate = ended_.back();
    ended_.pop_back();
    return slot;
  }
  return fresh_slot();
}

template <class Clocks>
ThreadSlot BasicHappensBefore<Clocks>::fresh_slot() {
  owners_.emplace_back();
  return ThreadSlot{static_cast<std::uint32_t>(owners_.size() - 1)};
}

template class BasicHappensBefore<CopiedClocks<>>;
template class BasicHappensBefore<PacerClocks<>>;

}  // namespace deadheat
