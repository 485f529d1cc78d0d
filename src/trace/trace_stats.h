// SPDX-License-Identifier: Apache-2.0
// TraceStats: what is in a trace, in numbers. Collected in one pass; memory
// grows with the distinct things counted, one bit per address and page at best
// (a page of 4 KiB that is touched at all costs 512 bytes).
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "model/event.h"
#include "model/identity.h"

namespace deadheat {

struct ThreadStats {
  std::uint64_t events = 0;
  std::uint64_t reads = 0;    // plain
  std::uint64_t writes = 0;   // plain
  std::uint64_t atomics = 0;  // loads, stores and read-modify-writes
  std::uint64_t acquires = 0;
};

struct TraceStats {
  std::uint64_t events = 0;
  std::array<std::uint64_t, kEventKindCount> by_kind{};
  std::array<std::uint64_t, kMemoryOrderCount> by_order{};  // atomic accesses and fences
  std::map<ThreadId, ThreadStats> by_thread;                // threads with events
  std::map<std::uint64_t, std::uint64_t> by_access_size;    // number of plain and atomic accesses

  std::uint64_t shared_acquires = 0;
  std::uint64_t recursive_acquires = 0;  // deeper than the outermost
  std::uint64_t volatile_accesses = 0;
  std::uint64_t allocated_bytes = 0;

  // First addresses of accesses, and objects by the family that used them. One
  // number used as two kinds of object counts in both.
  std::uint64_t distinct_addresses = 0;
  std::uint64_t distinct_atomics = 0;  // addresses of atomic accesses
  std::uint64_t distinct_locks = 0;
  std::uint64_t distinct_conditions = 0;
  std::uint64_t distinct_barriers = 0;
  std::uint64_t distinct_semaphores = 0;
  std::uint64_t distinct_sites = 0;  // the unknown site excepted

  [[nodiscard]] std::uint64_t count(EventKind kind) const { return by_kind[raw(kind)]; }
  [[nodiscard]] std::uint64_t plain_accesses() const { return count(EventKind::kRead) + count(EventKind::kWrite); }
  [[nodiscard]] std::uint64_t atomic_accesses() const {
    return count(EventKind::kAtomicLoad) + count(EventKind::kAtomicStore) + count(EventKind::kAtomicRmw);
  }
};

class TraceStatsCollector {
 public:
  // The next events of the trace, in order.
  void add(std::span<const Event> events);

  // Of all events so far.
  [[nodiscard]] const TraceStats& stats() const { return stats_; }

 private:
  // A set of addresses as one bit per address on the pages that are touched.
  class AddressSet {
   public:
    // True if it was not there.
    bool insert(Address address);

   private:
    static constexpr std::uint64_t kPage = 4096;
    std::unordered_map<std::uint64_t, std::bitset<kPage>> pages_;
  };
  using SyncSet = std::unordered_set<std::uint64_t>;

  void add_one(const Event& event);
  void add_access(const Event& event, ThreadStats& thread);
  void add_acquire(const Event& event, ThreadStats& thread);
  void add_object(const Event& event);
  static void count_new(SyncSet& known, std::uint64_t number, std::uint64_t& distinct);

  TraceStats stats_;
  AddressSet addresses_;
  AddressSet atomics_;
  SyncSet locks_;
  SyncSet conditions_;
  SyncSet barriers_;
  SyncSet semaphores_;
  SyncSet sites_;
};

}  // namespace deadheat
