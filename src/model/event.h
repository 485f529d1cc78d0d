// SPDX-License-Identifier: Apache-2.0
// Event: the one vocabulary between every source of events (live runtime,
// trace file, replay) and every detector.
//
// An event says that one thread did one thing. The order of a stream is an
// order in which the observed execution can have happened; what is *ordered*
// in the sense of happens-before is for the detectors to work out from the
// meanings below. An event is written at the moment that keeps this true: an
// acquiring event after the operation has succeeded, a releasing event before
// the operation begins.
//
//   Read, Write       a plain access to [address, address + size).
//   AtomicLoad/Store/Rmw  an atomic access with its memory order. A failed
//                     compare-exchange is an AtomicLoad with the failure order.
//   Fence             atomic_thread_fence.
//   LockAcquire       the lock is now held: exclusive (mutex, spinlock, write
//                     lock) or shared (read lock); by try or not. `depth`
//                     counts recursion: 1 is the outermost. Only the outermost
//                     acquire and release order anything.
//   LockRelease       the lock is about to be given up; `depth` as before it.
//   LockTryFailed     a try or timed attempt that did not get the lock; orders
//                     nothing.
//   CondWaitBegin/End the wait releases / has reacquired its mutex. Signal and
//                     Broadcast order nothing by themselves: C++ gives
//                     notify no synchronizes-with edge, the mutex has it.
//   BarrierArrive/Leave  every Arrive of a phase happens before every Leave of
//                     the same phase. Phases of one barrier count up.
//   SemaphorePost/Wait  a wait happens after every earlier post.
//   OnceComplete/Observe  the initialiser has run / its effect is relied on.
//   SyncDestroy       the object's life ends; the same SyncId later is new.
//   ThreadRoot        this thread exists without a Fork in the trace (it was
//                     there before recording began). The thread of the first
//                     event is a root without saying so.
//   Fork, Join        of another thread; Detach orders nothing.
//   ThreadExit        the thread's last event. Locks that it still holds are
//                     released by it (robust mutexes).
//   Alloc             [address, address + size) is new memory: its history and
//                     the atomic variables in it are forgotten.
//   Free              counts as a plain write of the whole range.
//   FunctionEnter     a call; `site` is the call site in the caller.
//   FunctionExit      the return of the innermost open call.
//   SamplingBegin/End the thread joins / leaves a sampling period (PACER).
//   HappensBefore/After  annotation: every Before with a tag happens before
//                     every later After with the same tag.
//   IgnoreBegin/End   annotation: this thread's reads, writes or
//                     synchronisation do not count until the matching end.
//   BenignRange       annotation: races on these bytes are not reported.
#pragma once

#include <cstdint>

#include "base/raw.h"
#include "model/identity.h"

namespace deadheat {

enum class EventKind : std::uint8_t {
#define DEADHEAT_EVENT(name, word, object, extent, detail) k##name,
#include "model/event_kinds.def"
#undef DEADHEAT_EVENT
};

inline constexpr int kEventKindCount = 0
#define DEADHEAT_EVENT(name, word, object, extent, detail) +1
#include "model/event_kinds.def"
#undef DEADHEAT_EVENT
    ;

enum class MemoryOrder : std::uint8_t { kRelaxed, kConsume, kAcquire, kRelease, kAcqRel, kSeqCst };
inline constexpr int kMemoryOrderCount = 6;

// Consume is acquire, as in every compiler.
[[nodiscard]] constexpr bool acquires(MemoryOrder order) {
  return order != MemoryOrder::kRelaxed && order != MemoryOrder::kRelease;
}
[[nodiscard]] constexpr bool releases(MemoryOrder order) {
  return order == MemoryOrder::kRelease || order == MemoryOrder::kAcqRel || order == MemoryOrder::kSeqCst;
}

enum class LockMode : std::uint8_t { kExclusive, kShared };
enum class LockAttempt : std::uint8_t { kBlocking, kTry };

// Volatile accesses are checked like others; reports name them.
enum class AccessFlavour : std::uint8_t { kPlain, kVolatile };

// What an ignore annotation switches off: a set of bits.
enum class Ignore : std::uint8_t { kReads = 1, kWrites = 2, kReadsAndWrites = 3, kSync = 4, kAll = 7 };
[[nodiscard]] constexpr bool includes(Ignore set, Ignore part) { return (raw(set) & raw(part)) != 0; }

// Which meaning the generic fields of an event have, by kind.
enum class ObjectMeaning : std::uint8_t { kNone, kAddress, kSync, kThread };
enum class ExtentMeaning : std::uint8_t { kNone, kSize, kMutex, kPhase };
enum class DetailMeaning : std::uint8_t { kNone, kOrder, kLock, kFlavour, kIgnore };

struct EventKindInfo {
  const char* name;  // for people who read our code: "LockAcquire"
  const char* word;  // for people who read traces: "acquire"
  ObjectMeaning object;
  ExtentMeaning extent;
  DetailMeaning detail;
};

inline constexpr EventKindInfo kEventKinds[kEventKindCount] = {
#define DEADHEAT_EVENT(name, word, object, extent, detail) \
  {#name, word, ObjectMeaning::k##object, ExtentMeaning::k##extent, DetailMeaning::k##detail},
#include "model/event_kinds.def"
#undef DEADHEAT_EVENT
};

[[nodiscard]] constexpr const EventKindInfo& info(EventKind kind) { return kEventKinds[raw(kind)]; }

// 32 bytes, trivially copyable: traces decode into arrays of it. Build one by
// the functions below, which name what each kind needs; read it by the
// accessors, each valid for the kinds it names.
struct Event {
  EventKind kind = EventKind::kRead;
  std::uint8_t detail = 0;
  std::uint16_t depth = 0;
  ThreadId thread{};
  std::uint64_t object = 0;
  std::uint64_t extent = 0;
  SiteId site = SiteId::kUnknown;

  // Kinds whose object is an address.
  [[nodiscard]] Address address() const { return object; }
  [[nodiscard]] std::uint64_t size() const { return extent; }
  // Kinds whose object is a synchronisation object.
  [[nodiscard]] SyncId sync() const { return SyncId{object}; }
  // CondWaitBegin, CondWaitEnd.
  [[nodiscard]] SyncId mutex() const { return SyncId{extent}; }
  // BarrierArrive, BarrierLeave.
  [[nodiscard]] std::uint64_t phase() const { return extent; }
  // Fork, Join, Detach.
  [[nodiscard]] ThreadId other_thread() const { return ThreadId{static_cast<std::uint32_t>(object)}; }
  // Atomic accesses and fences.
  [[nodiscard]] MemoryOrder order() const { return MemoryOrder{detail}; }
  // Lock events and condition waits.
  [[nodiscard]] LockMode lock_mode() const { return LockMode{static_cast<std::uint8_t>(detail & 1U)}; }
  [[nodiscard]] LockAttempt lock_attempt() const { return LockAttempt{static_cast<std::uint8_t>(detail >> 1U)}; }
  [[nodiscard]] bool is_outermost() const { return depth <= 1; }
  // Read, Write.
  [[nodiscard]] AccessFlavour flavour() const { return AccessFlavour{detail}; }
  // IgnoreBegin, IgnoreEnd.
  [[nodiscard]] Ignore ignored() const { return Ignore{detail}; }

  friend bool operator==(const Event&, const Event&) = default;
};
static_assert(sizeof(Event) == 32);

[[nodiscard]] constexpr std::uint8_t lock_detail(LockMode mode, LockAttempt attempt = LockAttempt::kBlocking) {
  return static_cast<std::uint8_t>(raw(mode) | (raw(attempt) << 1U));
}

// Builders. The site is set afterwards where there is one: `at(event, site)`.
namespace events {

constexpr Event read(ThreadId thread, Address address, std::uint64_t size,
                     AccessFlavour flavour = AccessFlavour::kPlain) {
  return {EventKind::kRead, raw(flavour), 0, thread, address, size, {}};
}
constexpr Event write(ThreadId thread, Address address, std::uint64_t size,
                      AccessFlavour flavour = AccessFlavour::kPlain) {
  return {EventKind::kWrite, raw(flavour), 0, thread, address, size, {}};
}
// kind: AtomicLoad, AtomicStore or AtomicRmw.
constexpr Event atomic(EventKind kind, ThreadId thread, Address address, std::uint64_t size, MemoryOrder order) {
  return {kind, raw(order), 0, thread, address, size, {}};
}
constexpr Event fence(ThreadId thread, MemoryOrder order) {
  return {EventKind::kFence, raw(order), 0, thread, 0, 0, {}};
}
constexpr Event acquire(ThreadId thread, SyncId lock, LockMode mode = LockMode::kExclusive, std::uint16_t depth = 1,
                        LockAttempt attempt = LockAttempt::kBlocking) {
  return {EventKind::kLockAcquire, lock_detail(mode, attempt), depth, thread, raw(lock), 0, {}};
}
constexpr Event release(ThreadId thread, SyncId lock, LockMode mode = LockMode::kExclusive, std::uint16_t depth = 1) {
  return {EventKind::kLockRelease, lock_detail(mode), depth, thread, raw(lock), 0, {}};
}
constexpr Event try_failed(ThreadId thread, SyncId lock, LockMode mode = LockMode::kExclusive) {
  return {EventKind::kLockTryFailed, lock_detail(mode, LockAttempt::kTry), 0, thread, raw(lock), 0, {}};
}
// The mutex of a wait is held exclusively, once, before and after.
constexpr Event wait_begin(ThreadId thread, SyncId condition, SyncId mutex) {
  return {EventKind::kCondWaitBegin, 0, 1, thread, raw(condition), raw(mutex), {}};
}
constexpr Event wait_end(ThreadId thread, SyncId condition, SyncId mutex) {
  return {EventKind::kCondWaitEnd, 0, 1, thread, raw(condition), raw(mutex), {}};
}
constexpr Event barrier(EventKind kind, ThreadId thread, SyncId barrier, std::uint64_t phase) {
  return {kind, 0, 0, thread, raw(barrier), phase, {}};
}
// Kinds that name one synchronisation object and nothing else.
constexpr Event on_sync(EventKind kind, ThreadId thread, SyncId object) {
  return {kind, 0, 0, thread, raw(object), 0, {}};
}
// Fork, Join, Detach.
constexpr Event on_thread(EventKind kind, ThreadId thread, ThreadId other) {
  return {kind, 0, 0, thread, raw(other), 0, {}};
}
// Kinds that name a range of memory without an access kind: Alloc, Free, BenignRange.
constexpr Event on_range(EventKind kind, ThreadId thread, Address address, std::uint64_t size) {
  return {kind, 0, 0, thread, address, size, {}};
}
// Kinds that say all by themselves: ThreadRoot, ThreadExit, FunctionEnter/Exit, SamplingBegin/End.
constexpr Event plain(EventKind kind, ThreadId thread) { return {kind, 0, 0, thread, 0, 0, {}}; }
// IgnoreBegin, IgnoreEnd.
constexpr Event ignore(EventKind kind, ThreadId thread, Ignore what) { return {kind, raw(what), 0, thread, 0, 0, {}}; }

constexpr Event at(Event event, SiteId site) {
  event.site = site;
  return event;
}

}  // namespace events

}  // namespace deadheat
