// SPDX-License-Identifier: Apache-2.0
#include "trace/trace_stats.h"

namespace deadheat {

bool TraceStatsCollector::AddressSet::insert(Address address) {
  auto bit = pages_[address / kPage][address % kPage];
  if (bit) return false;
  bit = true;
  return true;
}

void TraceStatsCollector::add(std::span<const Event> events) {
  for (const Event& event : events) add_one(event);
}

void TraceStatsCollector::add_one(const Event& event) {
  ++stats_.events;
  ++stats_.by_kind[raw(event.kind)];
  ThreadStats& thread = stats_.by_thread[event.thread];
  ++thread.events;
  if (event.site != SiteId::kUnknown) count_new(sites_, raw(event.site), stats_.distinct_sites);
  if (event.kind <= EventKind::kAtomicRmw) return add_access(event, thread);
  if (event.kind == EventKind::kFence) ++stats_.by_order[event.detail];
  if (event.kind == EventKind::kLockAcquire) add_acquire(event, thread);
  if (event.kind == EventKind::kAlloc) stats_.allocated_bytes += event.size();
  add_object(event);
}

void TraceStatsCollector::add_access(const Event& event, ThreadStats& thread) {
  ++stats_.by_access_size[event.size()];
  if (addresses_.insert(event.address())) ++stats_.distinct_addresses;
  if (event.kind == EventKind::kRead || event.kind == EventKind::kWrite) {
    ++(event.kind == EventKind::kRead ? thread.reads : thread.writes);
    if (event.flavour() == AccessFlavour::kVolatile) ++stats_.volatile_accesses;
    return;
  }
  ++thread.atomics;
  ++stats_.by_order[event.detail];
  if (atomics_.insert(event.address())) ++stats_.distinct_atomics;
}

void TraceStatsCollector::add_acquire(const Event& event, ThreadStats& thread) {
  ++thread.acquires;
  if (event.lock_mode() == LockMode::kShared) ++stats_.shared_acquires;
  if (!event.is_outermost()) ++stats_.recursive_acquires;
}

void TraceStatsCollector::add_object(const Event& event) {
  switch (event.kind) {
    case EventKind::kLockAcquire:
    case EventKind::kLockRelease:
    case EventKind::kLockTryFailed:
      return count_new(locks_, event.object, stats_.distinct_locks);
    case EventKind::kCondWaitBegin:
    case EventKind::kCondWaitEnd:
      count_new(locks_, event.extent, stats_.distinct_locks);
      [[fallthrough]];
    case EventKind::kCondSignal:
    case EventKind::kCondBroadcast:
      return count_new(conditions_, event.object, stats_.distinct_conditions);
    case EventKind::kBarrierArrive:
    case EventKind::kBarrierLeave:
      return count_new(barriers_, event.object, stats_.distinct_barriers);
    case EventKind::kSemaphorePost:
    case EventKind::kSemaphoreWait:
      return count_new(semaphores_, event.object, stats_.distinct_semaphores);
    default:
      return;
  }
}

void TraceStatsCollector::count_new(SyncSet& known, std::uint64_t number, std::uint64_t& distinct) {
  if (known.insert(number).second) ++distinct;
}

}  // namespace deadheat
