// SPDX-License-Identifier: Apache-2.0
#include "runtime/sync_table.h"

#include <new>

#include "runtime/shadow_memory.h"

namespace deadheat::runtime {
namespace {

template <class Object>
void dispose(SyncObject* object) {
  auto* whole = static_cast<Object*>(object);
  whole->~Object();
  PageSource::release(whole, sizeof(Object));
}

}  // namespace

constinit Immortal<SyncTable> the_sync_table;

bool SyncTable::map() {
  buckets_ = static_cast<std::atomic<SyncObject*>*>(PageSource::reserve(kBuckets * sizeof(*buckets_)));
  marks_ = static_cast<std::atomic<std::uint8_t>*>(PageSource::reserve(kAddressEnd >> 6));
  return buckets_ != nullptr;
}

void SyncTable::insert(SyncObject* object, Address address) {
  object->address = address;
  std::atomic<SyncObject*>& bucket = buckets_[bucket_of(address)];
  object->next = bucket.load(std::memory_order_relaxed);
  if (marks_ != nullptr && address < kAddressEnd) marks_[address >> 6].store(1, std::memory_order_relaxed);
  bucket.store(object, std::memory_order_release);  // pairs with is_surely_absent()
}

void SyncTable::destroy(SyncObject* object) {
  switch (object->kind) {
    case SyncKind::kLock:
      return dispose<LockObject>(object);
    case SyncKind::kAtomic:
      return dispose<AtomicObject>(object);
    case SyncKind::kTag:
      return dispose<TagObject>(object);
    case SyncKind::kBarrier: {
      BarrierPhaseClock* phase = static_cast<BarrierObject*>(object)->current;
      if (phase != nullptr && --phase->users == 0) {
        phase->~BarrierPhaseClock();
        PageSource::release(phase, sizeof(BarrierPhaseClock));
      }
      return dispose<BarrierObject>(object);
    }
  }
}

template <class Matches>
void SyncTable::erase_if(std::uint32_t number, Matches&& matches) {
  std::atomic<SyncObject*>& bucket = buckets_[number];
  SyncObject* previous = nullptr;
  for (SyncObject* at = bucket.load(std::memory_order_relaxed); at != nullptr;) {
    SyncObject* next = at->next;
    if (matches(*at)) {
      if (previous == nullptr) {
        bucket.store(next, std::memory_order_release);
      } else {
        previous->next = next;
      }
      count_change_of(number % kStripes);
      destroy(at);
    } else {
      previous = at;
    }
    at = next;
  }
}

void SyncTable::erase(Address address, SyncKind kind) {
  erase_if(bucket_of(address),
           [&](const SyncObject& object) { return object.address == address && object.kind == kind; });
}

void SyncTable::erase_range(Address begin, std::size_t size) {
  if (size == 0 || begin + size > kAddressEnd || marks_ == nullptr) return;
  // Beyond this, it is quicker to go through all buckets than through the lines.
  constexpr std::size_t kHuge = 64 << 20;
  if (size >= kHuge) return erase_huge_range(begin, begin + size);
  const Address end = begin + size;
  for (Address line = begin >> 6; line <= (end - 1) >> 6; ++line) {
    // Eight lines at a time while they are empty.
    if (line % 8 == 0 && line + 8 <= (end - 1) >> 6 && *reinterpret_cast<const std::uint64_t*>(marks_ + line) == 0) {
      line += 7;
      continue;
    }
    if (marks_[line].load(std::memory_order_relaxed) == 0) continue;
    SpinHolder hold(stripe(line << 6));
    erase_if(bucket_of(line << 6),
             [&](const SyncObject& object) { return object.address >= begin && object.address < end; });
    if (begin <= line << 6 && (line + 1) << 6 <= end) marks_[line].store(0, std::memory_order_relaxed);
  }
}

// Marks of lines are left behind; they are only hints.
void SyncTable::erase_huge_range(Address begin, Address end) {
  for (std::uint32_t number = 0; number < kBuckets; ++number) {
    if (buckets_[number].load(std::memory_order_relaxed) == nullptr) continue;
    SpinHolder hold(stripes_[number % kStripes]);
    erase_if(number, [&](const SyncObject& object) { return object.address >= begin && object.address < end; });
  }
}

void SyncTable::lock_all() {
  for (SpinLock& stripe : stripes_) stripe.lock();
}

void SyncTable::unlock_all() {
  for (SpinLock& stripe : stripes_) stripe.unlock();
}

}  // namespace deadheat::runtime
