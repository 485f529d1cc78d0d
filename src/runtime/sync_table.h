// SPDX-License-Identifier: Apache-2.0
// SyncTable: the clocks of synchronisation objects, by address.
//
// Locks, atomic variables, barriers, and everything else that hands on order (a
// "tag") have an object here from their first use to their end, or to the end of
// the memory they lie in. Buckets are chosen by the 64-byte line of the address,
// so that all objects of a line are in one list, and a byte per line says
// whether there are any: freeing a block looks at one byte per line of it.
//
// A bucket's list, and the clocks of the objects in it, belong to whoever holds
// the stripe's lock. Whether a bucket is empty may be asked without it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/immortal.h"
#include "core/sync_clock.h"
#include "model/identity.h"
#include "runtime/page_source.h"
#include "runtime/system.h"
#include "runtime/thread_state.h"

namespace deadheat::runtime {

enum class SyncKind : std::uint8_t { kLock, kAtomic, kTag, kBarrier };

struct SyncObject {
  SyncObject* next = nullptr;
  Address address = 0;
  SyncKind kind = SyncKind::kTag;
};

struct LockObject : SyncObject {
  static constexpr SyncKind kKind = SyncKind::kLock;
  std::uint64_t serial = 0;
  std::uint32_t created_stack = 0;
  std::uint32_t owner = 0;  // number of the thread that holds it exclusively
  std::uint64_t name = 0;   // see lock_names.h; 0 as long as nobody asked
  LockClockOf<RuntimeClocks> clock;
};

struct AtomicObject : SyncObject {
  static constexpr SyncKind kKind = SyncKind::kAtomic;
  AtomicClockOf<RuntimeClocks> clock;
};

struct TagObject : SyncObject {
  static constexpr SyncKind kKind = SyncKind::kTag;
  RuntimeSyncClock clock;
};

// One phase of a barrier; shared by the barrier and the threads that arrived and
// have not left.
struct BarrierPhaseClock {
  std::uint32_t users = 0;
  RuntimeSyncClock clock;
};

struct BarrierObject : SyncObject {
  static constexpr SyncKind kKind = SyncKind::kBarrier;
  std::uint32_t count = 0;
  std::uint32_t arrived = 0;
  std::uint64_t phase = 0;
  BarrierPhaseClock* current = nullptr;
};

class SyncTable {
 public:
  static constexpr std::uint32_t kBuckets = 1U << 16;
  static constexpr std::uint32_t kStripes = 1U << 10;

  // Reserves the table; false if refused.
  bool map();

  // The lock of the address's bucket.
  [[nodiscard]] SpinLock& stripe(Address address) { return stripes_[bucket_of(address) % kStripes]; }

  // Counts the changes of atomic variables' clocks in the stripe, and the ends of
  // objects. Who publishes a value counts first, so a value read before the
  // unchanged count was carries nothing new.
  [[nodiscard]] std::uint64_t changes(Address address) const {
    return changes_[bucket_of(address) % kStripes].load(std::memory_order_acquire);
  }
  // With the stripe's lock held.
  void count_change(Address address) { count_change_of(bucket_of(address) % kStripes); }

  // No object lies in this line, nor in others of its bucket.
  [[nodiscard]] bool is_surely_absent(Address address) const {
    return buckets_[bucket_of(address)].load(std::memory_order_acquire) == nullptr;
  }

  // With the stripe's lock held. find() returns nullptr when absent.
  template <class Object>
  [[nodiscard]] Object* find(Address address) {
    for (SyncObject* at = buckets_[bucket_of(address)].load(std::memory_order_relaxed); at != nullptr; at = at->next) {
      if (at->address == address && at->kind == Object::kKind) return static_cast<Object*>(at);
    }
    return nullptr;
  }
  template <class Object>
  Object& get(Address address) {
    if (Object* found = find<Object>(address)) return *found;
    auto* fresh = new (PageSource::allocate(sizeof(Object))) Object;
    fresh->kind = Object::kKind;
    insert(fresh, address);
    return *fresh;
  }
  void erase(Address address, SyncKind kind);

  // Ends all objects in the range. Takes the stripes' locks.
  void erase_range(Address begin, std::size_t size);

  // False: surely none in the range. For small ranges at a glance.
  [[nodiscard, gnu::always_inline]] bool may_have_objects(Address begin, std::size_t size) const {
    constexpr std::size_t kSmall = 4096;
    if (size > kSmall || marks_ == nullptr) return true;
    std::uint64_t any = 0;
    for (Address line = begin >> 6; line <= (begin + size) >> 6; line += sizeof any) {
      std::uint64_t marks = 0;  // of eight lines, also behind the range
      __builtin_memcpy(&marks, reinterpret_cast<const std::uint8_t*>(marks_) + line, sizeof marks);
      any |= marks;
    }
    return any != 0;
  }

  // fork: all stripes.
  void lock_all();
  void unlock_all();

 private:
  static std::uint32_t bucket_of(Address address) {
    const std::uint64_t line = address >> 6;
    return static_cast<std::uint32_t>((line ^ (line >> 16) ^ (line >> 29)) % kBuckets);
  }
  void count_change_of(std::uint32_t stripe) {
    std::atomic<std::uint64_t>& count = changes_[stripe];
    count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
  void insert(SyncObject* object, Address address);
  void erase_huge_range(Address begin, Address end);
  static void destroy(SyncObject* object);
  template <class Matches>
  void erase_if(std::uint32_t number, Matches&& matches);

  std::atomic<SyncObject*>* buckets_ = nullptr;
  std::atomic<std::uint8_t>* marks_ = nullptr;  // per line; nullptr when refused: all lines may have objects
  SpinLock stripes_[kStripes];
  std::atomic<std::uint64_t> changes_[kStripes] = {};
};

[[gnu::visibility("hidden")]] extern constinit Immortal<SyncTable> the_sync_table;
[[nodiscard]] inline SyncTable& sync_table() { return *the_sync_table; }

}  // namespace deadheat::runtime
