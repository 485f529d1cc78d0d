// SPDX-License-Identifier: Apache-2.0
// Compressed shadow for large memory: SlimState (docs/slimstate.md), online.
//
// The whole pages inside a large heap block or mapping are a region. A table by
// page says which region an address belongs to; there the direct-mapped cells
// stay empty, which is what leads the hooks here, and a partition (core/
// run_partition.h) holds the history: a few parts instead of two bytes of shadow
// per byte. Accesses are collected per thread (footprints.h) and committed range
// by range under the region's lock; the accesses themselves take none.
//
// A region is not a promise. Every 64 KiB of it, a chunk, earn their keep by
// footprints of many elements; a chunk that is used here and there goes over to
// ordinary cells, with its history, and so does a partition that falls apart.
//
// A thread may have accesses to a region in hand when the memory is freed and
// allocated again by others. They belong to the old region, which is kept for a
// while after its end: its last entry is the free, and so a use that nothing
// orders with the free is still found. What comes too late for that is counted.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/cell_rules.h"
#include "core/footprint.h"
#include "core/run_partition.h"
#include "model/finding.h"
#include "model/identity.h"
#include "runtime/thread_registry.h"

namespace deadheat::runtime {

// A region's place in the table of regions, and how often the place was used
// before. 0: none.
enum class RegionId : std::uint32_t { kNone = 0 };

inline constexpr int kSlimPageShift = 12;
inline constexpr std::size_t kSmallestRegion = std::size_t{8} << kSlimPageShift;  // below, cells cost little
[[gnu::visibility("hidden")]] extern std::atomic<std::uint32_t>* slim_pages;

// A page of a region that went over to the cells: its region with this bit.
inline constexpr std::uint32_t kPageHasCells = std::uint32_t{1} << 31;

[[nodiscard, gnu::always_inline]] inline RegionId region_at(Address address) {
  const std::uint32_t entry = slim_pages[address >> kSlimPageShift].load(std::memory_order_acquire);
  return (entry & kPageHasCells) == 0 ? RegionId{entry} : RegionId::kNone;
}

// Reserves the tables; false if refused.
bool map_slim_regions();

// New memory, not yet seen by the program: its whole pages become a region if they
// are many. Before the history of the memory is cleared.
void make_region(Address begin, std::size_t size);
// The history of the range is forgotten, as far as it is in regions.
void forget_in_regions(Address begin, std::size_t size);
// The pages go away, or over to the cells; their history is forgotten.
void end_regions(Address begin, std::size_t size);
void forget_all_regions();
// Calls visit for the stretches of the range that are in regions.
void for_each_in_regions(Address begin, std::size_t size, void (*visit)(Address first, Address last, void* context),
                         void* context);

struct RegionBounds {
  Address begin = 0;
  Address end = 0;
};
// The pages of a region around an address, where the thread has just found it. Other
// blocks may have got the rest.
[[nodiscard]] RegionBounds bounds_of(RegionId region, Address address);

struct SlimAccess {
  AccessKind kind = AccessKind::kRead;
  OriginId origin = OriginId::kUnknown;
  bool is_range = false;     // of a function such as memcpy: says nothing of elements
  bool wants_cells = false;  // the same again and again, which is what cells are best at
};

// Races of a commit, to be reported when no lock is held any more.
struct SlimRace {
  CellEntry earlier;
  CellAccess access;
  Address word = 0;
};
struct SlimRaces {
  static constexpr int kLimit = 32;
  SlimRace races[kLimit];
  int count = 0;
  Footprint swept;  // what was committed

  void add(CellEntry earlier, const CellAccess& access, Address begin, std::size_t size);
  void report(ThreadState& thread) const;
};

// The accesses of a footprint, which lies in the region, happen now. `thread` is the
// current one, or one that is known to have them in hand still: is_held(context),
// if given, is asked with the region's lock held. Inside a RuntimeScope.
struct StillHeld {
  bool (*is_held)(void* context) = nullptr;
  void* context = nullptr;
};
void commit(ThreadState& thread, RegionId region, const Footprint& footprint, const SlimAccess& access,
            SlimRaces& races, StillHeld held = {});

// Calls visit for every entry; an entry may be made empty. For the sweep of slots.
void for_each_slim_entry(void (*visit)(CellEntry& entry));

// fork: all locks.
void lock_regions();
void unlock_regions();

struct SlimCounters {
  std::uint64_t regions = 0;  // made
  std::uint64_t region_bytes = 0;
  std::uint64_t commits = 0;
  std::uint64_t elements = 0;  // accesses in them
  std::uint64_t chunks_given_up = 0;
  std::uint64_t live_bytes = 0;
  std::uint64_t part_bytes = 0;
  // At the end of each region's life, or now. Elements are counted in the size of
  // the smallest access; those of chunks with cells are parts of their own.
  std::uint64_t parts = 0;
  std::uint64_t part_elements = 0;
  std::uint64_t shapes[kPartitionShapeCount] = {};
};
[[nodiscard]] SlimCounters slim_counters();

}  // namespace deadheat::runtime
