// SPDX-License-Identifier: Apache-2.0
#include "runtime/lock_records.h"

#include <atomic>

#include "base/flat_map.h"
#include "base/immortal.h"
#include "runtime/page_source.h"
#include "runtime/system.h"

namespace deadheat::runtime {
namespace {

constexpr std::uint64_t kLimit = std::uint64_t{1} << 26;

std::atomic<LockRecord*> all_records{nullptr};
std::atomic<std::uint64_t> next_serial{1};

LockRecord* records() {
  LockRecord* known = all_records.load(std::memory_order_acquire);  // pairs with the exchange below
  if (known != nullptr) return known;
  auto* fresh = static_cast<LockRecord*>(PageSource::reserve(kLimit * sizeof(LockRecord)));
  if (fresh == nullptr) return nullptr;
  if (all_records.compare_exchange_strong(known, fresh, std::memory_order_acq_rel)) return fresh;
  raw_munmap(fresh, kLimit * sizeof(LockRecord));
  return known;
}

// By the stack of their creation.
struct LocksOfPlace {
  std::uint32_t count = 0;
  std::uint64_t all_others = 0;
};
constexpr std::uint32_t kNumberedPerPlace = 16;
SpinLock lock;  // taken with a stripe of the table of locks held
constinit Immortal<FlatMap<LocksOfPlace, PageSource>> places;

std::uint64_t write_record(Address address, std::uint32_t created_stack) {
  const std::uint64_t serial = next_serial.fetch_add(1, std::memory_order_relaxed);
  LockRecord* table = records();
  if (table != nullptr && serial < kLimit) table[serial] = LockRecord{address, created_stack, 0};
  return serial;
}

}  // namespace

std::uint64_t add_lock_record(Address address, std::uint32_t created_stack) {
  SpinHolder hold(lock);
  LocksOfPlace& place = (*places)[created_stack];
  if (place.count == kNumberedPerPlace && created_stack != 0) {
    if (place.all_others == 0) place.all_others = write_record(0, created_stack);
    return place.all_others;
  }
  ++place.count;
  return write_record(address, created_stack);
}

LockRecord lock_record(std::uint64_t serial) {
  const LockRecord* table = all_records.load(std::memory_order_acquire);  // pairs with records()
  return table != nullptr && serial < kLimit ? table[serial] : LockRecord{};
}

}  // namespace deadheat::runtime
