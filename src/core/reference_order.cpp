// SPDX-License-Identifier: Apache-2.0
#include "core/reference_order.h"

#include <algorithm>

namespace deadheat {

namespace {

void join(ReferenceOrder::Clock& into, const ReferenceOrder::Clock& from) {
  for (const auto& [thread, clock] : from) into[thread] = std::max(into[thread], clock);
}

}  // namespace

ReferenceOrder::Thread& ReferenceOrder::thread(ThreadId id) {
  Thread& result = threads_[id];
  if (result.seen[id] == 0) result.seen[id] = 1;
  return result;
}

void ReferenceOrder::release_to(Clock& object, ThreadId id) {
  join(object, thread(id).seen);
  ++thread(id).seen[id];
}

const ReferenceOrder::Clock& ReferenceOrder::before(const Event& event) {
  Thread& self = thread(event.thread);
  switch (event.kind) {
    case EventKind::kLockAcquire:
      if (!event.is_outermost()) break;
      join(self.seen, locks_[event.sync()].exclusive);
      if (event.lock_mode() == LockMode::kExclusive) join(self.seen, locks_[event.sync()].shared);
      break;
    case EventKind::kCondWaitEnd:
      join(self.seen, locks_[event.mutex()].exclusive);
      join(self.seen, locks_[event.mutex()].shared);
      break;
    case EventKind::kBarrierLeave:
      if (const Phase& phase = arrived_[{event.thread, event.sync(), event.phase()}]) join(self.seen, *phase);
      break;
    case EventKind::kSemaphoreWait:
      join(self.seen, semaphores_[event.sync()]);
      break;
    case EventKind::kOnceObserve:
      join(self.seen, onces_[event.sync()]);
      break;
    case EventKind::kHappensAfter:
      join(self.seen, tags_[event.sync()]);
      break;
    case EventKind::kJoin:
      join(self.seen, thread(event.other_thread()).seen);
      break;
    case EventKind::kAtomicLoad:
    case EventKind::kAtomicRmw:
      for (const Head& head : atomics_[event.address()]) {
        join(acquires(event.order()) ? self.seen : self.pending_acquire, head.clock);
      }
      break;
    case EventKind::kFence:
      if (acquires(event.order())) join(self.seen, self.pending_acquire);
      break;
    default:
      break;
  }
  return self.seen;
}

void ReferenceOrder::after(const Event& event) {
  const ThreadId id = event.thread;
  switch (event.kind) {
    case EventKind::kLockRelease:
      if (!event.is_outermost()) return;
      return release_to(
          event.lock_mode() == LockMode::kShared ? locks_[event.sync()].shared : locks_[event.sync()].exclusive, id);
    case EventKind::kCondWaitBegin:
      return release_to(locks_[event.mutex()].exclusive, id);
    case EventKind::kBarrierArrive: {
      Phase& phase = barriers_[{event.sync(), event.phase()}];
      if (phase == nullptr) phase = std::make_shared<Clock>();
      arrived_[{id, event.sync(), event.phase()}] = phase;
      return release_to(*phase, id);
    }
    case EventKind::kSemaphorePost:
      return release_to(semaphores_[event.sync()], id);
    case EventKind::kOnceComplete:
      return release_to(onces_[event.sync()], id);
    case EventKind::kHappensBefore:
      return release_to(tags_[event.sync()], id);
    case EventKind::kSyncDestroy:
      locks_.erase(event.sync());
      std::erase_if(barriers_, [&](const auto& entry) { return entry.first.first == event.sync(); });
      semaphores_.erase(event.sync());
      onces_.erase(event.sync());
      return;
    case EventKind::kFork:
      return release_to(thread(event.other_thread()).seen, id);
    case EventKind::kAtomicStore: {
      std::vector<Head>& heads = atomics_[event.address()];
      // A store that is no RMW ends the sequences before it; until C++20, not
      // those that its own thread heads.
      if (release_sequences_ == ReleaseSequences::kCpp20) heads.clear();
      std::erase_if(heads, [&](const Head& head) { return head.thread != id; });
      return add_head(heads, id, event.order());
    }
    case EventKind::kAtomicRmw:
      return add_head(atomics_[event.address()], id, event.order());
    case EventKind::kFence:
      if (releases(event.order())) {
        thread(id).release_fence.emplace();
        release_to(*thread(id).release_fence, id);
      }
      return;
    default:
      return;
  }
}

void ReferenceOrder::add_head(std::vector<Head>& heads, ThreadId id, MemoryOrder order) {
  const auto own = [&]() -> Clock& {
    auto at = std::find_if(heads.begin(), heads.end(), [&](const Head& head) { return head.thread == id; });
    if (at == heads.end()) at = heads.insert(heads.end(), Head{id, {}});
    return at->clock;
  };
  if (releases(order)) return release_to(own(), id);
  if (thread(id).release_fence) join(own(), *thread(id).release_fence);
}

void ReferenceOrder::forget_atomics(Address address, std::uint64_t size) {
  std::erase_if(atomics_, [&](const auto& entry) { return entry.first - address < size; });
}

}  // namespace deadheat
