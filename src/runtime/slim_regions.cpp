// SPDX-License-Identifier: Apache-2.0
#include "runtime/slim_regions.h"

#include <new>

#include "base/immortal.h"
#include "runtime/access_check.h"
#include "runtime/counters.h"
#include "runtime/options.h"
#include "runtime/races.h"
#include "runtime/shadow_memory.h"
#include "runtime/shadow_pages.h"
#include "runtime/slim_cells.h"

namespace deadheat::runtime {

std::atomic<std::uint32_t>* slim_pages = nullptr;

namespace {

constexpr std::size_t kPage = std::size_t{1} << kSlimPageShift;
constexpr std::size_t kChunk = 16 * kPage;
// A commit moves the parts behind it, and locks the region: large blocks are several.
constexpr std::size_t kLargest = 256 * kPage;
// Address space that is reserved, to be used here and there.
constexpr std::size_t kLargestBlock = std::size_t{16} << 30;
constexpr int kIndexBits = 20;
constexpr std::uint32_t kMaxRegions = 1U << kIndexBits;
constexpr std::uint32_t kKeptAfterEnd = 1024;
// A footprint of fewer elements costs more than their cells would.
constexpr int kWorthwhile = 12;
constexpr int kMostCredit = 256;
// More parts than one per so many bytes: the cells are cheaper.
constexpr std::size_t kBytesPerPart = 1024;
// As many parts are moved in the time that an element takes.
constexpr std::uint32_t kPartsMovedAtOnce = 32;
constexpr std::uint32_t kPartsAtLeast = 64;
// Beyond this, the regions are asked instead of the pages.
constexpr std::size_t kManyPages = 64 << 20;

struct Chunk {
  std::int16_t credit = 0;
  bool has_cells = false;  // went over to the cells
};

struct Region {
  SpinLock lock;  // of all below, unless it says otherwise
  std::uint32_t id = 0;
  Address begin = 0;
  Address end = 0;
  std::atomic<std::size_t> pages{0};  // in the table
  bool is_ended = false;              // regions_lock
  bool has_cells = false;
  std::uint32_t element = 0;  // size of the smallest access; 0: none yet
  GrowableArray<Chunk, PageSource> chunks;
  RunPartition<SlimPolicy, PageSource> shadow{0};

  [[nodiscard]] std::uint32_t chunk_of(Address address) const {
    return static_cast<std::uint32_t>((address - begin) / kChunk);
  }
};

SpinLock regions_lock;  // of making and ending; taken before a region's
Region** regions = nullptr;
std::uint32_t region_count = 1;  // regions_lock; indices below were used
constinit Immortal<GrowableArray<std::uint32_t, PageSource>> free_indices;
constinit Immortal<GrowableArray<std::uint32_t, PageSource>> ended_indices;  // oldest first
SlimPolicy policy;

std::atomic<std::uint64_t> count_regions{0};
std::atomic<std::uint64_t> count_region_bytes{0};
std::atomic<std::uint64_t> count_commits{0};
std::atomic<std::uint64_t> count_elements{0};
std::atomic<std::uint64_t> count_given_up{0};

void count(std::atomic<std::uint64_t>& counter, std::uint64_t more = 1) {
  counter.fetch_add(more, std::memory_order_relaxed);
}

std::atomic<std::uint32_t>& page_entry(Address address) { return slim_pages[address >> kSlimPageShift]; }
std::uint32_t index_of(std::uint32_t id) { return id & (kMaxRegions - 1); }
Address page_up(Address address) { return (address + kPage - 1) & ~(kPage - 1); }
Address page_down(Address address) { return address & ~(kPage - 1); }

// What regions looked like at the end of their lives.
SpinLock past_lock;
SlimCounters past;

// Only what has a history counts. The region's lock is held.
void tally(Region& region, SlimCounters& counters) {
  if (region.element == 0) return;
  std::uint64_t parts = 0;
  std::uint64_t elements = 0;
  region.shadow.for_each_part([&](const SlimPolicy::Cell& cell, const PartBytes& bytes) {
    if (cell.is_empty()) return;
    ++parts;
    elements += (bytes.count() + region.element - 1) / region.element;
  });
  std::uint64_t given_up = 0;
  for (std::uint32_t number = 0; number < region.chunks.size(); ++number) {
    if (region.chunks[number].has_cells) given_up += kChunk / region.element;
  }
  counters.parts += parts + given_up;
  counters.part_elements += elements + given_up;
  ++counters.shapes[raw(given_up > elements ? PartitionShape::kFine : region.shadow.shape())];
}

// Now, with the history that the region had in its life; at its free, say.
void note_life(Region& region) {
  if (!options().stats || region.element == 0) return;
  SpinHolder hold(past_lock);
  tally(region, past);
  region.element = 0;
}

// regions_lock held.
void recycle(std::uint32_t index) {
  Region& region = *regions[index];
  SpinHolder hold(region.lock);
  note_life(region);
  region.shadow.release(policy);
  region.chunks.reset();
  region.id = (region.id + kMaxRegions) & ~kPageHasCells;  // whoever still has the old one notices
  region.is_ended = false;
  free_indices->push_back(index);
}

// The region has no pages any more. regions_lock held.
void note_end(Region& region) {
  if (region.is_ended || region.pages.load(std::memory_order_relaxed) != 0) return;
  region.is_ended = true;
  ended_indices->push_back(index_of(region.id));
  if (ended_indices->size() <= kKeptAfterEnd) return;
  const std::uint32_t oldest = (*ended_indices)[0];
  ended_indices->erase(0);
  recycle(oldest);
}

// Takes [begin, end), whole pages, out of the table. regions_lock held.
void detach(Address begin, Address end) {
  for (Address page = begin; page < end; page += kPage) {
    const std::uint32_t id = page_entry(page).load(std::memory_order_relaxed);
    if (id == 0) continue;
    page_entry(page).store(0, std::memory_order_release);
    if ((id & kPageHasCells) != 0) continue;
    Region& region = *regions[index_of(id)];
    region.pages.fetch_sub(1, std::memory_order_relaxed);
    note_end(region);
  }
}

// A place in the table of regions; nullptr when it is full. regions_lock held.
Region* take_region() {
  if (!free_indices->empty()) {
    const std::uint32_t index = (*free_indices)[free_indices->size() - 1];
    free_indices->resize(free_indices->size() - 1);
    return regions[index];
  }
  if (region_count == kMaxRegions) return nullptr;
  void* memory = PageSource::try_allocate(sizeof(Region));
  if (memory == nullptr) return nullptr;
  auto* region = new (memory) Region;
  region->id = region_count;
  regions[region_count++] = region;
  return region;
}

// Whole pages that belong to no region. False when there is no room. regions_lock held.
bool begin_region(Address begin, Address end) {
  Region* region = take_region();
  if (region == nullptr) return false;
  {
    SpinHolder hold(region->lock);
    region->begin = begin;
    region->end = end;
    region->has_cells = false;
    region->element = 0;
    region->shadow = RunPartition<SlimPolicy, PageSource>(end - begin);
    region->chunks.resize(static_cast<std::uint32_t>((end - begin + kChunk - 1) / kChunk));
    region->pages.store((end - begin) / kPage, std::memory_order_relaxed);
  }
  for (Address page = begin; page < end; page += kPage) page_entry(page).store(region->id, std::memory_order_release);
  count(count_regions);
  count(count_region_bytes, end - begin);
  return true;
}

// Calls visit(region, begin, end) for the stretches of the range that belong to
// regions, with the region's lock held.
template <class Visit>
void for_each_stretch(Address begin, Address end, Visit&& visit) {
  for (Address at = begin; at < end;) {
    const std::uint32_t id = page_entry(at).load(std::memory_order_acquire);
    Address next = page_down(at) + kPage;
    if (id == 0 || (id & kPageHasCells) != 0) {
      at = next;
      continue;
    }
    while (next < end && page_entry(next).load(std::memory_order_relaxed) == id) next += kPage;
    Region& region = *regions[index_of(id)];
    SpinHolder hold(region.lock);
    if (region.id == id) visit(region, at, next < end ? next : end);
    at = next;
  }
}

// The same, for ranges of any size.
template <class Visit>
void for_each_stretch_of_many(Address begin, Address end, Visit&& visit) {
  if (end - begin <= kManyPages) return for_each_stretch(begin, end, visit);
  SpinHolder hold(regions_lock);
  for (std::uint32_t index = 1; index < region_count; ++index) {
    const Region& region = *regions[index];
    const Address low = region.begin > begin ? region.begin : begin;
    const Address high = region.end < end ? region.end : end;
    if (low < high && region.pages.load(std::memory_order_relaxed) != 0) for_each_stretch(low, high, visit);
  }
}

// An entry of the region for these bytes of a word.
void put_in_cell(ThreadState& self, ShadowCell& cell, CellEntry entry) {
  for (std::atomic<std::uint64_t>& place : cell.entries) {
    const auto old = CellEntry::from_bits(place.load(std::memory_order_relaxed));
    if (old.is_mark()) break;
    if (!old.is_empty() && ((old.bits() ^ entry.bits()) & ~CellEntry::kMaskBits) != 0) continue;
    place.store(old.bits() | entry.bits(), std::memory_order_relaxed);
    return;
  }
  add_entry(self, cell, entry);
}

void put_in_cells(ThreadState& self, SlimPolicy::Cell& cell, Address begin, Address end) {
  for (Address word = begin & ~Address{7}; word < end; word += 8) {
    const ByteMask mask = bytes_in_word(word, begin, end);
    SlimPolicy::for_each_entry(cell, [&](CellEntry entry) {
      put_in_cell(self, *cell_of(word), CellEntry(entry.epoch(), mask, entry.kind(), entry.origin()));
    });
  }
}

// The hooks have read the empty cells; nobody has written them. Lock held.
void renew_pages(const Region& region, std::uint64_t low, std::uint64_t high) {
  const auto is_ours = [&](std::uint64_t page) {
    return page_entry(region.begin + page).load(std::memory_order_relaxed) == region.id;
  };
  for (std::uint64_t at = low; at < high; at += kPage) {
    const std::uint64_t first = at;
    while (at < high && is_ours(at)) at += kPage;
    if (at != first) renew_cells(region.begin + first, at - first);
  }
}

// The page at this offset in the region. A page that belongs to another region by now keeps
// what it has.
void move_page_to_cells(ThreadState& self, Region& region, std::uint64_t low) {
  if (page_entry(region.begin + low).load(std::memory_order_relaxed) != region.id) return;
  const std::uint64_t high = low + kPage;
  region.shadow.for_each_part_in(low, high, [&](SlimPolicy::Cell& cell, const PartBytes& bytes) {
    if (cell.is_empty()) return;
    PartBytes in_page = bytes;
    if (in_page.begin < low) in_page.begin = low;
    if (in_page.end > high) in_page.end = high;
    in_page.for_each_interval([&](std::uint64_t first, std::uint64_t last) {
      put_in_cells(self, cell, region.begin + first, region.begin + last);
      return true;
    });
  });
}

// The chunk goes over to the cells. The region's lock is held, so its history does
// not change; only then do others see that the cells are in charge.
void give_up_chunk(ThreadState& self, Region& region, std::uint32_t number) {
  Chunk& chunk = region.chunks[number];
  if (chunk.has_cells) return;
  const std::uint64_t low = number * kChunk;
  const std::uint64_t high = low + kChunk < region.end - region.begin ? low + kChunk : region.end - region.begin;
  renew_pages(region, low, high);
  for (std::uint64_t page = low; page < high; page += kPage) move_page_to_cells(self, region, page);
  region.shadow.forget(policy, low, high);
  chunk.has_cells = true;
  region.has_cells = true;
  for (Address page = region.begin + low; page < region.begin + high; page += kPage) {
    std::uint32_t expected = region.id;
    if (page_entry(page).compare_exchange_strong(expected, region.id | kPageHasCells, std::memory_order_release)) {
      region.pages.fetch_sub(1, std::memory_order_relaxed);
    }
  }
  count(count_given_up);
}

// What the region has gained by this footprint. Lock held.
//
// An element costs less than its cell's first access in an epoch would, and more
// than a further one: who sweeps the same memory again and again without
// synchronisation is better off with cells.
void settle_accounts(ThreadState& self, Region& region, const Footprint& footprint, std::uint32_t chunk_number,
                     bool was_new, std::uint32_t parts_before) {
  Chunk& chunk = region.chunks[chunk_number];
  const auto elements = static_cast<std::int64_t>(footprint.count);
  const bool has_moved = region.shadow.parts() != parts_before;
  const std::int64_t cost = kWorthwhile + (has_moved ? parts_before / kPartsMovedAtOnce : 0);
  const std::int64_t credit = chunk.credit + (was_new                      ? elements - cost
                                              : elements < 4 * kWorthwhile ? -elements
                                                                           : -4 * kWorthwhile);
  chunk.credit = static_cast<std::int16_t>(credit > kMostCredit ? kMostCredit : credit);
  if (credit < -kMostCredit) return give_up_chunk(self, region, chunk_number);
  const std::size_t limit = kPartsAtLeast + (region.end - region.begin) / kBytesPerPart;
  if (region.shadow.parts() <= limit) return;
  give_up_chunk(self, region, chunk_number);
  if (region.shadow.parts() <= limit) return;
  for (std::uint32_t number = 0; number < region.chunks.size(); ++number) give_up_chunk(self, region, number);
}

struct Commit {
  ThreadState& thread;
  const Footprint& footprint;
  CellAccess access;
  SlimRaces& races;
};

// A part of the footprint, all of it in chunks without cells. Lock held.
// False if nothing was new.
bool commit_piece(const Commit& commit, Region& region, Footprint piece) {
  const ThreadView view(commit.thread);
  piece.begin -= region.begin;
  return region.shadow.access(
      policy, piece, [&](const SlimPolicy::Cell& cell) { return SlimPolicy::is_settled(cell, commit.access); },
      [&](SlimPolicy::Cell& cell, const PartBytes& bytes) {
        CaughtRaces caught;
        SlimPolicy::apply(cell, commit.access, view, caught);
        if (caught.count == 0) return;
        bytes.for_each_interval([&](std::uint64_t first, std::uint64_t last) {
          const Address begin = first_not_benign(region.begin + first, region.begin + last);
          const std::uint64_t left = region.begin + last - begin;
          if (left == 0) return true;
          const std::uint64_t size = commit.footprint.size < left ? commit.footprint.size : left;
          for (int index = 0; index < caught.count; ++index) {
            commit.races.add(caught.entries[index], commit.access, begin, size);
          }
          return false;
        });
      });
}

// The part of the footprint in [low, high): whole elements, and those that the ends
// cut through.
template <class Visit>
void for_each_piece(const Footprint& footprint, Address low, Address high, Visit&& visit) {
  if (footprint.begin >= low && footprint.end() <= high) return visit(footprint);
  if (footprint.is_dense()) {
    const Address begin = footprint.begin > low ? footprint.begin : low;
    const Address end = footprint.end() < high ? footprint.end() : high;
    if (begin < end) visit(Footprint::dense(begin, end));
    return;
  }
  const std::uint64_t step = footprint.step;
  std::uint64_t first = footprint.begin >= low ? 0 : (low - footprint.begin) / step;
  if (footprint.begin + first * step < low) {
    const Address end = footprint.begin + first * step + footprint.size;
    if (end > low) visit(Footprint::dense(low, end < high ? end : high));
    ++first;
  }
  if (first >= footprint.count || footprint.begin + first * step >= high) return;
  std::uint64_t last = (high - 1 - footprint.begin) / step;
  if (last >= footprint.count) last = footprint.count - 1;
  const Address last_begin = footprint.begin + last * step;
  const bool is_cut = last_begin + footprint.size > high;
  const std::uint64_t whole = last - first + (is_cut ? 0 : 1);
  if (whole != 0) visit(Footprint{footprint.begin + first * step, step, whole, footprint.size});
  if (is_cut) visit(Footprint::dense(last_begin, high));
}

void check_words_of(const Commit& commit, Address begin, Address end) {
  check_words_as(commit.thread, commit.access.kind, begin, end, commit.access.origin);
}

// Elements of a page that went over to the cells. If it is part of a new block by
// now, the cells know nothing of the old one's free, which this races with.
void check_in_cells(const Commit& commit, RegionId region, const Footprint& piece) {
  for (Address page = page_down(piece.begin); page < piece.end(); page += kPage) {
    if (page_entry(page).load(std::memory_order_relaxed) != (raw(region) | kPageHasCells)) {
      count_loss(Loss::kLateFootprint);
      continue;
    }
    for_each_piece(piece, page, page + kPage, [&](const Footprint& part) {
      if (part.is_dense()) return check_words_of(commit, part.begin, part.end());
      for (std::uint64_t index = 0; index < part.count; ++index) {
        const Address begin = part.begin + index * part.step;
        check_words_of(commit, begin, begin + part.size);
      }
    });
  }
}

}  // namespace

bool map_slim_regions() {
  slim_pages = static_cast<std::atomic<std::uint32_t>*>(
      PageSource::reserve((kAddressEnd >> kSlimPageShift) * sizeof(std::uint32_t)));
  regions = static_cast<Region**>(PageSource::reserve(kMaxRegions * sizeof(Region*)));
  return slim_pages != nullptr && regions != nullptr;
}

void SlimRaces::add(CellEntry earlier, const CellAccess& access, Address begin, std::size_t size) {
  const Address word = begin & ~Address{7};
  const Address end = begin + size < word + 8 ? begin + size : word + 8;
  SlimRace race{earlier, access, word};
  race.access.mask = bytes_in_word(word, begin, end);
  for (int index = 0; index < count; ++index) {
    if (races[index].earlier == earlier) return;
  }
  if (count < kLimit) {
    races[count++] = race;
  } else {
    count_loss(Loss::kRacesAtOnce);
  }
}

void SlimRaces::report(ThreadState& thread) const {
  if (count == 0) return;
  thread.range_number = (std::uint64_t{thread_number(thread)} << 40) | ++thread.ranges;
  if (swept.count > 1 && swept.size > 1) thread.swept = swept;
  for (int index = 0; index < count; ++index) {
    report_race(thread, races[index].earlier, races[index].access, races[index].word);
  }
  thread.swept = {};
}

void make_region(Address begin, std::size_t size) {
  if (!options().slim || samples) return;
  const Address first = page_up(begin);
  const Address last = page_down(begin + size);
  if (last <= first || last - first < kSmallestRegion) return;
  if (last - first > kLargestBlock) return end_regions(begin, size);
  SpinHolder hold_all(regions_lock);
  detach(first, last);
  for (Address low = first; low < last; low += kLargest) {
    if (!begin_region(low, last - low < kLargest ? last : low + kLargest)) return;
  }
}

RegionBounds bounds_of(RegionId id, Address address) {
  const Region& region = *regions[index_of(raw(id))];
  RegionBounds bounds{region.begin, region.end};
  if (region.pages.load(std::memory_order_relaxed) * kPage == bounds.end - bounds.begin) return bounds;
  const auto is_there = [&](Address page) { return page_entry(page).load(std::memory_order_relaxed) == raw(id); };
  Address low = page_down(address);
  Address high = low + kPage;
  while (low > bounds.begin && is_there(low - kPage)) low -= kPage;
  while (high < bounds.end && is_there(high)) high += kPage;
  return {low, high};
}

void forget_in_regions(Address begin, std::size_t size) {
  for_each_stretch_of_many(begin, begin + size, [](Region& region, Address low, Address high) {
    region.shadow.forget(policy, low - region.begin, high - region.begin);
  });
}

void end_regions(Address begin, std::size_t size) {
  const Address end = begin + size;
  const Address first = page_up(begin);
  const Address last = page_down(end);
  SpinHolder hold(regions_lock);
  if (last <= first) return;
  if (last - first <= kManyPages) return detach(first, last);
  for (std::uint32_t index = 1; index < region_count; ++index) {
    const Region& region = *regions[index];
    const Address low = region.begin > first ? region.begin : first;
    const Address high = region.end < last ? region.end : last;
    if (low < high && region.pages.load(std::memory_order_relaxed) != 0) detach(low, high);
  }
}

void for_each_in_regions(Address begin, std::size_t size, void (*visit)(Address first, Address last, void* context),
                         void* context) {
  GrowableArray<Address, PageSource> found;  // who is visited may need the locks
  for_each_stretch_of_many(begin, begin + size, [&](const Region&, Address low, Address high) {
    found.push_back(low);
    found.push_back(high);
  });
  for (std::uint32_t index = 0; index < found.size(); index += 2) visit(found[index], found[index + 1], context);
}

void forget_all_regions() {
  SpinHolder hold_all(regions_lock);
  for (std::uint32_t index = 1; index < region_count; ++index) {
    Region& region = *regions[index];
    SpinHolder hold(region.lock);
    if (region.shadow.parts() != 0) region.shadow.forget(policy, 0, region.end - region.begin);
  }
}

void commit(ThreadState& thread, RegionId id, const Footprint& footprint, const SlimAccess& access, SlimRaces& races,
            StillHeld held) {
  Region& region = *regions[index_of(raw(id))];
  const Commit commit{thread, footprint, {short_epoch(thread.clock.epoch()), 0xff, access.kind, access.origin}, races};
  races.swept = footprint;
  count(count_commits);
  if (!access.is_range) count(count_elements, footprint.count);
  bool is_first = true;
  for (Address low = footprint.begin; low < footprint.end();) {
    Address high = footprint.end();
    bool has_cells = false;
    {
      SpinHolder hold(region.lock);
      if (region.id != raw(id)) return count_loss(Loss::kLateFootprint);
      if (held.is_held != nullptr && !held.is_held(held.context)) return;
      if (access.kind == AccessKind::kFree && footprint.end() - footprint.begin == region.end - region.begin) {
        note_life(region);
      }
      if (!access.is_range && (region.element == 0 || footprint.size < region.element)) {
        region.element = footprint.size;
      }
      if (region.has_cells) {
        // As far as the chunks are alike.
        std::uint32_t number = region.chunk_of(low);
        has_cells = region.chunks[number].has_cells;
        while (number < region.chunks.size() && region.chunks[number].has_cells == has_cells) ++number;
        const Address alike = region.begin + number * kChunk;
        if (alike < high) high = alike;
      }
      if (!has_cells) {
        bool was_new = false;
        const std::uint32_t parts_before = region.shadow.parts();
        for_each_piece(footprint, low, high,
                       [&](const Footprint& piece) { was_new = commit_piece(commit, region, piece) || was_new; });
        if (is_first && access.kind != AccessKind::kFree) {
          settle_accounts(thread, region, footprint, region.chunk_of(low), was_new, parts_before);
        }
        for (Address at = low; access.wants_cells && at < high; at += kChunk) {
          give_up_chunk(thread, region, region.chunk_of(at));
        }
      }
    }
    if (has_cells) {
      for_each_piece(footprint, low, high, [&](const Footprint& piece) { check_in_cells(commit, id, piece); });
    }
    is_first = false;
    low = high;
  }
  if (region.pages.load(std::memory_order_relaxed) == 0) {
    SpinHolder hold(regions_lock);
    if (region.id == raw(id)) note_end(region);
  }
}

void for_each_slim_entry(void (*visit)(CellEntry& entry)) {
  SpinHolder hold_all(regions_lock);
  for (std::uint32_t index = 1; index < region_count; ++index) {
    Region& region = *regions[index];
    SpinHolder hold(region.lock);
    region.shadow.for_each_part([&](SlimPolicy::Cell& cell, const PartBytes&) {
      SlimPolicy::for_each_entry(cell, [&](CellEntry& entry) { visit(entry); });
    });
  }
}

void lock_regions() {
  regions_lock.lock();
  for (std::uint32_t index = 1; index < region_count; ++index) regions[index]->lock.lock();
}

void unlock_regions() {
  for (std::uint32_t index = 1; index < region_count; ++index) regions[index]->lock.unlock();
  regions_lock.unlock();
}

SlimCounters slim_counters() {
  SpinHolder hold_all(regions_lock);
  past_lock.lock();
  SlimCounters result = past;
  past_lock.unlock();
  result.regions = count_regions.load(std::memory_order_relaxed);
  result.region_bytes = count_region_bytes.load(std::memory_order_relaxed);
  result.commits = count_commits.load(std::memory_order_relaxed);
  result.elements = count_elements.load(std::memory_order_relaxed);
  result.chunks_given_up = count_given_up.load(std::memory_order_relaxed);
  for (std::uint32_t index = 1; index < region_count; ++index) {
    Region& region = *regions[index];
    SpinHolder hold(region.lock);
    if (region.shadow.parts() == 0) continue;
    result.live_bytes += region.pages.load(std::memory_order_relaxed) * kPage;
    result.part_bytes += region.shadow.memory();
    tally(region, result);
  }
  return result;
}

}  // namespace deadheat::runtime
