// SPDX-License-Identifier: Apache-2.0
#include "report/trace_ledger.h"

#include <algorithm>

#include "runtime/raw_report.h"

namespace deadheat {

namespace {

// The longest access of a trace, and the longest range that the reference detector
// walks byte by byte.
constexpr std::uint64_t kLongest = std::uint64_t{1} << 24U;

// The first tag of an address has its number; later ones are counted from here.
constexpr std::uint64_t kLaterTags = std::uint64_t{1} << 63U;

template <class Visit>
void for_each_piece(Address begin, std::uint64_t size, Visit visit) {
  for (std::uint64_t done = 0; done < size; done += kLongest) visit(begin + done, std::min(kLongest, size - done));
}

// The event alone, without what only the runtime and the ledger understand.
Event plainly(Event event) {
  event.depth = 0;
  return event;
}

Event on_piece(Event event, Address begin, std::uint64_t size) {
  event.object = begin;
  event.extent = size;
  return event;
}

}  // namespace

void TraceLedger::add(const Event& event, std::vector<Event>& out) {
  out_ = &out;
  begin_thread(event);
  switch (event.kind) {
    case EventKind::kRead:
    case EventKind::kWrite:
      return access(event);
    case EventKind::kAtomicLoad:
      return load(event);
    case EventKind::kAtomicStore:
    case EventKind::kAtomicRmw:
      atomics_.insert(event.address());
      return emit(event);
    case EventKind::kLockAcquire:
      return acquire(event);
    case EventKind::kLockRelease:
      return release(event);
    case EventKind::kCondWaitBegin:
      return release(events::at(events::release(event.thread, event.mutex()), event.site));
    case EventKind::kCondWaitEnd:
      return acquire(events::at(events::acquire(event.thread, event.mutex()), event.site));
    case EventKind::kBarrierArrive:
      return arrive(event);
    case EventKind::kBarrierLeave:
      return leave(event);
    case EventKind::kSemaphorePost:
    case EventKind::kSemaphoreWait:
      objects_[raw(event.sync())].is_other = true;
      return emit(event);
    case EventKind::kOnceComplete:
      return complete(event);
    case EventKind::kOnceObserve:
      return observe(event);
    case EventKind::kHappensBefore:
    case EventKind::kHappensAfter:
      return use_tag(event);
    case EventKind::kSyncDestroy:
      return end_object(event);
    case EventKind::kAlloc:
      return allocate(event);
    case EventKind::kFree:
      return free_memory(event);
    case EventKind::kIgnoreBegin:
      for (unsigned part = 0; part < 3; ++part) {
        threads_[raw(event.thread)].ignored[part] += (event.detail >> part) & 1U;
      }
      return emit(event);
    case EventKind::kIgnoreEnd:
      return end_ignoring(event);
    case EventKind::kDetach:
      return detach(event);
    case EventKind::kFork:
      threads_[raw(event.other_thread())].is_known = true;
      return emit(event);
    case EventKind::kThreadExit:
      threads_[raw(event.thread)].has_ended = true;
      return emit(event);
    case EventKind::kJoin:
      threads_[raw(event.other_thread())].has_ended = true;
      return emit(event);
    default:
      return emit(event);
  }
}

void TraceLedger::begin_thread(const Event& event) {
  ThreadEntry& thread = threads_[raw(event.thread)];
  if (!thread.is_known && is_begun_ && event.kind != EventKind::kThreadRoot) {
    emit(events::plain(EventKind::kThreadRoot, event.thread));
  }
  thread.is_known = true;
  is_begun_ = true;
}

void TraceLedger::silently(ThreadId thread, Ignore what, const Event& event) {
  emit(events::ignore(EventKind::kIgnoreBegin, thread, what));
  emit(event);
  emit(events::ignore(EventKind::kIgnoreEnd, thread, what));
}

void TraceLedger::access(const Event& event) {
  for_each_piece(event.address(), event.size(),
                 [&](Address begin, std::uint64_t size) { emit(on_piece(event, begin, size)); });
}

// An access alone matters only where there is order that it could hand on.
void TraceLedger::load(const Event& event) {
  if (event.depth == 0) return emit(event);
  if (!atomics_.contains(event.address())) return emit(plainly(event));
  silently(event.thread, Ignore::kSync, plainly(event));
}

void TraceLedger::end_ignoring(Event event) {
  ThreadEntry& thread = threads_[raw(event.thread)];
  for (unsigned part = 0; part < 3; ++part) {
    if (((event.detail >> part) & 1U) == 0) continue;
    if (thread.ignored[part] == 0) {
      event.detail = static_cast<std::uint8_t>(event.detail & ~(1U << part));
    } else {
      --thread.ignored[part];
    }
  }
  if (event.detail != 0) emit(event);
}

void TraceLedger::detach(const Event& event) {
  ThreadEntry& other = threads_[raw(event.other_thread())];
  if (!other.is_detached) emit(event);
  other.is_detached = true;
}

// Locks.

void TraceLedger::release_silently(LockEntry& entry, SyncId lock, const Holder& holder) {
  if (threads_[raw(holder.thread)].has_ended) return;
  for (std::uint16_t depth = holder.depth; depth > 0; --depth) {
    silently(holder.thread, Ignore::kSync, events::release(holder.thread, lock, entry.mode, depth));
  }
}

void TraceLedger::acquire_silently(ThreadId thread, SyncId lock, LockMode mode) {
  silently(thread, Ignore::kSync, events::acquire(thread, lock, mode));
}

// Makes room for the thread: whoever else stands in the way has given up the lock
// without our knowing.
void TraceLedger::take_from_others(LockEntry& entry, SyncId lock, ThreadId thread, LockMode mode) {
  const bool can_share = mode == LockMode::kShared && entry.mode == LockMode::kShared;
  std::erase_if(entry.holders, [&](const Holder& holder) {
    if (holder.thread == thread || can_share) return false;
    release_silently(entry, lock, holder);
    return true;
  });
}

void TraceLedger::acquire(Event event) {
  const SyncId lock = event.sync();
  LockEntry& entry = locks_[raw(lock)];
  const LockMode mode = event.lock_mode();
  const auto is_own = [&](const Holder& holder) { return holder.thread == event.thread; };
  auto own = std::ranges::find_if(entry.holders, is_own);
  if (own != entry.holders.end() && (event.is_outermost() || entry.mode != mode)) {
    release_silently(entry, lock, *own);
    entry.holders.erase(own);
    own = entry.holders.end();
  }
  if (own != entry.holders.end()) {
    event.depth = ++own->depth;
    return emit(event);
  }
  take_from_others(entry, lock, event.thread, mode);
  entry.mode = mode;
  entry.holders.push_back({event.thread, 1});
  // An inner acquire orders nothing.
  if (!event.is_outermost()) return acquire_silently(event.thread, lock, mode);
  emit(event);
}

void TraceLedger::release(Event event) {
  const SyncId lock = event.sync();
  LockEntry& entry = locks_[raw(lock)];
  const LockMode mode = event.lock_mode();
  const auto is_own = [&](const Holder& holder) { return holder.thread == event.thread; };
  auto own = std::ranges::find_if(entry.holders, is_own);
  if (own != entry.holders.end() && entry.mode != mode) {
    release_silently(entry, lock, *own);
    entry.holders.erase(own);
    own = entry.holders.end();
  }
  if (!event.is_outermost()) {
    if (own == entry.holders.end() || own->depth < 2) return;
    event.depth = own->depth--;
    return emit(event);
  }
  if (own == entry.holders.end()) {
    take_from_others(entry, lock, event.thread, mode);
    entry.mode = mode;
    acquire_silently(event.thread, lock, mode);
    return emit(event);
  }
  for (; own->depth > 1; --own->depth) {
    silently(event.thread, Ignore::kSync, events::release(event.thread, lock, mode, own->depth));
  }
  entry.holders.erase(own);
  emit(event);
}

void TraceLedger::end_lock(ThreadId thread, SyncId lock) {
  const auto at = locks_.find(raw(lock));
  if (at == locks_.end()) return;
  for (const Holder& holder : at->second.holders) release_silently(at->second, lock, holder);
  locks_.erase(at);
  emit(events::on_sync(EventKind::kSyncDestroy, thread, lock));
}

// Other synchronisation objects.

void TraceLedger::arrive(const Event& event) {
  SyncEntry& entry = objects_[raw(event.sync())];
  entry.is_other = true;
  auto& arrivals = entry.barrier.arrivals;
  while (!arrivals.empty() && arrivals.begin()->first + 2 <= event.phase()) {
    const auto [phase, thread] = *arrivals.begin();
    arrivals.erase(arrivals.begin());
    if (!threads_[raw(thread)].has_ended) {
      emit(events::barrier(EventKind::kBarrierLeave, thread, event.sync(), phase));
    }
  }
  arrivals.emplace(event.phase(), event.thread);
  emit(event);
}

void TraceLedger::leave(const Event& event) {
  auto& arrivals = objects_[raw(event.sync())].barrier.arrivals;
  if (arrivals.erase({event.phase(), event.thread}) != 0) emit(event);
}

void TraceLedger::complete(const Event& event) {
  SyncEntry& entry = objects_[raw(event.sync())];
  entry.is_other = true;
  if (entry.is_completed)
    return use_tag(events::at(events::on_sync(EventKind::kHappensBefore, event.thread, event.sync()), event.site));
  entry.is_completed = true;
  emit(event);
}

void TraceLedger::observe(const Event& event) {
  const SyncEntry& entry = objects_[raw(event.sync())];
  if (entry.is_completed) emit(event);
  if (!entry.is_completed || entry.tag != 0) {
    use_tag(events::at(events::on_sync(EventKind::kHappensAfter, event.thread, event.sync()), event.site));
  }
}

void TraceLedger::use_tag(Event event) {
  SyncEntry& entry = objects_[raw(event.sync())];
  if (entry.tag == 0) entry.tag = entry.had_tag ? kLaterTags + ++later_tags_ : raw(event.sync());
  event.object = entry.tag;
  emit(event);
}

void TraceLedger::end_others(ThreadId thread, std::map<std::uint64_t, SyncEntry>::iterator at) {
  SyncEntry& entry = at->second;
  if (entry.is_other) {
    // Where a lock lives on at the same address it keeps its order.
    if (!locks_.contains(at->first)) emit(events::on_sync(EventKind::kSyncDestroy, thread, SyncId{at->first}));
    entry.is_other = false;
    entry.is_completed = false;
  }
  entry.had_tag |= entry.tag != 0;
  entry.tag = 0;
}

void TraceLedger::end_object(const Event& event) {
  if ((event.extent & raw_report::kEndsLock) != 0) end_lock(event.thread, event.sync());
  if ((event.extent & raw_report::kEndsOthers) == 0) return;
  if (const auto at = objects_.find(raw(event.sync())); at != objects_.end()) end_others(event.thread, at);
}

void TraceLedger::end_objects_in(ThreadId thread, Address begin, std::uint64_t size) {
  while (true) {
    const auto lock = locks_.lower_bound(begin);
    if (lock == locks_.end() || lock->first - begin >= size) break;
    end_lock(thread, SyncId{lock->first});
  }
  for (auto at = objects_.lower_bound(begin); at != objects_.end() && at->first - begin < size; ++at) {
    end_others(thread, at);
  }
}

// Memory.

bool TraceLedger::end_blocks_in(ThreadId thread, Address begin, std::uint64_t size) {
  auto at = blocks_.upper_bound(begin);
  if (at != blocks_.begin() && std::prev(at)->first + std::prev(at)->second > begin) --at;
  if (at != blocks_.end() && at->first == begin && at->second == size) return false;
  while (at != blocks_.end() && at->first < begin + size) {
    const auto [address, bytes] = *at;
    silently(thread, Ignore::kWrites, events::on_range(EventKind::kFree, thread, address, bytes));
    at = blocks_.erase(at);
  }
  return true;
}

void TraceLedger::allocate(const Event& event) {
  if (event.depth != 0) end_objects_in(event.thread, event.address(), event.size());
  for_each_piece(event.address(), event.size(), [&](Address begin, std::uint64_t size) {
    if (!end_blocks_in(event.thread, begin, size)) {
      silently(event.thread, Ignore::kWrites, events::on_range(EventKind::kFree, event.thread, begin, size));
    }
    blocks_[begin] = size;
    emit(on_piece(plainly(event), begin, size));
  });
}

void TraceLedger::free_memory(const Event& event) {
  for_each_piece(event.address(), event.size(), [&](Address begin, std::uint64_t size) {
    if (!end_blocks_in(event.thread, begin, size)) blocks_.erase(begin);
    emit(on_piece(event, begin, size));
  });
  end_objects_in(event.thread, event.address(), event.size());
}

}  // namespace deadheat
