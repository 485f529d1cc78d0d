// SPDX-License-Identifier: Apache-2.0
// What the compiler pass calls before a loop (pass/hoisting.h) or after it (pass/
// exits.h): everything that one access of the loop will touch, or has touched.
//
// Memory in regions is committed as it is, one footprint for all (slim_regions.h).
// Elsewhere the words are gone through. Loops come again, often in the same epoch:
// a range that the thread has checked in this epoch is settled, as a word is, and
// the last few are remembered. Memory that was given back and came again is
// another matter: then nothing is remembered (ThreadLocal::forgotten).
#include <cstddef>
#include <cstdint>

#include "core/cell_rules.h"
#include "core/footprint.h"
#include "runtime/access_check.h"
#include "runtime/fresh_cells.h"
#include "runtime/origins.h"
#include "runtime/range_check.h"
#include "runtime/sampling.h"
#include "runtime/settle.h"
#include "runtime/shadow_memory.h"
#include "runtime/shadow_pages.h"
#include "runtime/slim_regions.h"
#include "runtime/start.h"
#include "runtime/thread_registry.h"
#include "runtime/unsampled.h"

namespace deadheat::runtime {
namespace {

// When a range was settled. For a thread that samples or checks everything: the epoch. Outside of
// periods: the time in which no record is added, which no epoch equals (sampling.h); 0: there is none. A
// range that was checked then can only meet fewer records when it comes again, all of which are ordered before
// the thread, do not conflict, or have been reported. Nor does it say anything to a thread that was nudged: its
// records of this epoch may be gone.
[[gnu::always_inline]] inline std::uint64_t time_of_settling() {
  if (!samples) [[likely]]
    return current.epoch_bits;
  if (current.cell_mask == 0) return 0;
  if (current.epoch_bits != kNoRecord) return current.epoch_bits;
  const std::uint64_t quiet = quiet_time.load(std::memory_order_relaxed);
  return quiet == 0 ? 0 : quiet << CellEntry::kEpochShift | kNoRecord;
}

// A range that is settled: at this time, by this place in the code.
struct SettledRange {
  Address code = 0;
  std::uint64_t settled_at = 0;
  std::uint64_t forgotten = 0;
  Footprint footprint;
};
constexpr std::uint32_t kSettledRanges = 16;
constexpr std::uint32_t kPlaces = 4;  // where the one of a place in the code may be
constinit thread_local SettledRange settled_ranges[kSettledRanges] __attribute__((tls_model("initial-exec")));

[[gnu::always_inline]] inline SettledRange& settled_range(Address code, std::uint32_t place) {
  return settled_ranges[(code ^ (code >> 5)) % kSettledRanges ^ place];
}

// All elements of one are elements of the other.
bool contains(const Footprint& all, const Footprint& some) {
  if (some.begin < all.begin || some.end() > all.end()) return false;
  if (all.is_dense()) return true;
  if (all.size != some.size || (some.begin - all.begin) % all.step != 0) return false;
  return some.count == 1 || some.step % all.step == 0;
}

bool is_settled_range(Address code, const Footprint& footprint) {
  for (std::uint32_t place = 0; place < kPlaces; ++place) {
    const SettledRange& range = settled_range(code, place);
    if (range.code != code) continue;
    const std::uint64_t now = time_of_settling();
    return range.settled_at == now && now != 0 && range.forgotten == current.forgotten &&
           contains(range.footprint, footprint);
  }
  return false;
}

// In the place of the last one from here, or of one that is of no use any more. `now` is from before it was
// looked at.
void remember(Address code, const Footprint& footprint, std::uint64_t now) {
  SettledRange* chosen = &settled_range(code, 0);
  for (std::uint32_t place = 0; place < kPlaces; ++place) {
    SettledRange& range = settled_range(code, place);
    if (range.code == code) {
      chosen = &range;
      break;
    }
    if (range.settled_at != now) chosen = &range;
  }
  *chosen = {code, now, current.forgotten, footprint};
}

// What a loop does to memory, from one place in the code.
struct LoopAccess {
  AccessKind kind = AccessKind::kRead;
  OriginId origin = OriginId::kUnknown;
  Address code = 0;
};

// What loops leave in the cells of an array: the same access of an earlier epoch, or
// nothing. False when this word has something else.
template <AccessKind kKind>
[[gnu::always_inline]] inline bool settle_word(Address word, CellEntry own) {
  const Settled settled = settle_in_loop<kKind>(*cell_of(word), own);
  if (settled == Settled::kOtherChanged) [[unlikely]]
    look_at_changed(word, own);
  return settled != Settled::kNo;
}

// The first of the whole words [word, end) that is not settled; `end` if there is none.
// Four at a time, side by side in a line, as long as it is their first entries that say
// so.
template <AccessKind kKind>
[[gnu::always_inline]] inline Address skip_settled(Address word, Address end) {
  const std::uint64_t epoch_bits = current.epoch_bits;
  const std::uint64_t mask_bits = std::uint64_t{0xff} << CellEntry::kMaskShift;
  const std::uint64_t care = CellEntry::care_bits(kKind, mask_bits);
  const auto difference = [&](const ShadowCell& cell) {
    return cell.entries[0].load(std::memory_order_relaxed) ^ (epoch_bits | mask_bits);
  };
  while (word < end) {
    const ShadowCell* cells = cell_of(word);
    if (word % 32 == 0 && end - word >= 32) {
      const std::uint64_t all =
          difference(cells[0]) | difference(cells[1]) | difference(cells[2]) | difference(cells[3]);
      if ((all & care) == 0) {
        word += 32;
        continue;
      }
    }
    if (!is_settled(*cells, kKind, epoch_bits, 0xff)) break;
    word += 8;
  }
  return word;
}

// Words without regions.
template <AccessKind kKind>
void check_dense(ThreadState& self, OriginId origin, Address begin, Address end) {
  for (Address word = begin & ~Address{7}; word < end; word += 8) {
    const ByteMask mask = bytes_in_word(word, begin, end);
    if (is_settled(*cell_of(word), kKind, current.epoch_bits, mask)) {
      // Often the others as well.
      if (end - word >= 16) word = skip_settled<kKind>(word + 8, end & ~Address{7}) - 8;
      continue;
    }
    const CellEntry own =
        CellEntry::from_bits(current.epoch_bits | CellEntry(ShortEpoch{}, mask, kKind, origin).bits());
    if (settle_word<kKind>(word, own)) continue;
    check_words_as(self, kKind, word < begin ? begin : word, word + 8 < end ? word + 8 : end, origin);
  }
}

void check_words(ThreadState& self, const LoopAccess& access, Address begin, Address end) {
  if (access.kind == AccessKind::kWrite) return check_dense<AccessKind::kWrite>(self, access.origin, begin, end);
  check_dense<AccessKind::kRead>(self, access.origin, begin, end);
}

// Elements with gaps between them, without regions: as a rule each is in a word.
template <AccessKind kKind>
void check_strided(ThreadState& self, OriginId origin, const Footprint& part) {
  const std::uint64_t epoch_bits = current.epoch_bits;
  const std::uint64_t bytes = (std::uint64_t{1} << part.size % 64) - 1;
  Address element = part.begin;
  for (std::uint64_t left = part.count; left != 0; --left, element += part.step) {
    const Address end = element + part.size;
    if ((element & 7) + part.size > 8) {
      check_dense<kKind>(self, origin, element, end);
      continue;
    }
    const auto mask = static_cast<ByteMask>(bytes << (element & 7));
    if (is_settled(*cell_of(element), kKind, epoch_bits, mask)) continue;
    const auto own = CellEntry::from_bits(epoch_bits | CellEntry(ShortEpoch{}, mask, kKind, origin).bits());
    if (!settle_word<kKind>(element & ~Address{7}, own)) check_words_as(self, kKind, element, end, origin);
  }
}

void check_strided(ThreadState& self, const LoopAccess& access, const Footprint& part) {
  if (access.kind == AccessKind::kWrite) return check_strided<AccessKind::kWrite>(self, access.origin, part);
  check_strided<AccessKind::kRead>(self, access.origin, part);
}

void commit_part(ThreadState& self, RegionId region, const LoopAccess& access, const Footprint& part) {
  SlimRaces races;
  commit(self, region, part, {access.kind, access.origin}, races);
  races.report(self);
}

// The elements of the footprint that begin in [low, high).
Footprint elements_in(const Footprint& all, Address low, Address high) {
  const std::uint64_t first = low <= all.begin ? 0 : (low - all.begin + all.step - 1) / all.step;
  const std::uint64_t end = (high - all.begin + all.step - 1) / all.step;
  const std::uint64_t last = end < all.count ? end : all.count;
  return {all.begin + first * all.step, all.step, last > first ? last - first : 0, all.size};
}

Address end_of_pages(Address begin, Address end) {
  constexpr Address kPage = Address{1} << kSlimPageShift;
  const RegionId region = region_at(begin);
  Address at = (begin & ~(kPage - 1)) + kPage;
  while (at < end && region_at(at) == region) at += kPage;
  return at < end ? at : end;
}

// Part by part: a region, or what lies between two.
void check_parts(ThreadState& self, const LoopAccess& access, const Footprint& all) {
  const Address end = all.end();
  for (Address low = all.begin; low < end;) {
    const Address high = end_of_pages(low, end);
    const RegionId region = region_at(low);
    Footprint part = elements_in(all, low, high);
    if (part.count != 0 && part.end() > high) {
      // The last element goes over the edge.
      const Address last = part.begin + (part.count - 1) * part.step;
      for (Address at = last; at < last + part.size;) {
        const Address piece_end = end_of_pages(at, last + part.size);
        if (const RegionId under = region_at(at); under != RegionId::kNone) {
          commit_part(self, under, access, Footprint::dense(at, piece_end));
        } else {
          check_words(self, access, at, piece_end);
        }
        at = piece_end;
      }
      --part.count;
    }
    if (part.count != 0) {
      if (region != RegionId::kNone) {
        commit_part(self, region, access, part);
      } else if (part.is_dense()) {
        check_words(self, access, part.begin, part.end());
      } else {
        check_strided(self, access, part);
      }
    }
    low = high;
  }
}

// One by one: recording, ignoring, or the thread is not known yet.
[[gnu::noinline]] void check_slowly(AccessKind kind, const Footprint& footprint, Address code) {
  for (std::uint64_t at = 0; at < footprint.count; ++at) {
    check_access(kind, footprint.begin + at * footprint.step, footprint.size, code, 0);
  }
}

// In a sampling period. Granule by granule where something is recorded already.
void record_dense(ThreadState& self, const LoopAccess& access, Address begin, Address end) {
  const auto own =
      CellEntry::from_bits(current.epoch_bits | CellEntry(ShortEpoch{}, 0, access.kind, access.origin).bits());
  for (Address low = begin; low < end;) {
    low = fill_fresh_cells(low, end, own);
    if (low >= end) return;
    const Address high = end < end_of_granule(low) ? end : end_of_granule(low);
    if (BulkGranule bulk(low); bulk.is_taken()) {
      low = record_in_bulk(low, high, own, ThreadView(self));
      if (low < high) bulk.open_to_all();
    }
    if (low >= high) continue;
    note_record(low);
    check_words(self, access, low, high);
    low = high;
  }
}

void record_strided(ThreadState& self, const LoopAccess& access, const Footprint& all) {
  const auto own =
      CellEntry::from_bits(current.epoch_bits | CellEntry(ShortEpoch{}, 0, access.kind, access.origin).bits());
  for (Footprint left = all; left.count != 0;) {
    const Address filled = fill_fresh_cells(left, own);
    left = elements_in(left, filled, left.end());
    if (left.count == 0) return;
    Footprint some = elements_in(left, left.begin, end_of_granule(left.begin));
    const Address next = some.begin + some.count * some.step;
    if (BulkGranule bulk(some.begin); bulk.is_taken()) {
      some = elements_in(some, record_in_bulk(some, own, ThreadView(self)), next);
      if (some.count != 0) bulk.open_to_all();
    }
    if (some.count != 0) {
      note_record(some.begin);
      check_strided(self, access, some);
    }
    left = elements_in(left, next, left.end());
  }
}

void record_footprint(ThreadState& self, const LoopAccess& access, const Footprint& footprint) {
  self.sampling.sampled_accesses[is_write(access.kind) ? 1 : 0] += footprint.count;
  if (footprint.is_dense()) return record_dense(self, access, footprint.begin, footprint.end());
  if (has_word_per_element(footprint)) return record_strided(self, access, footprint);
  for (Address at = footprint.begin; at < footprint.end(); at = end_of_granule(at)) note_record(at);
  check_strided(self, access, footprint);
}

[[gnu::noinline]] void check_footprint(AccessKind kind, const Footprint& footprint, Address code) {
  if (current.inside != 0 || detection_is_off.load(std::memory_order_relaxed)) return;
  if (current.state == nullptr) static_cast<void>(self());
  if (current.epoch_bits == 0) return check_slowly(kind, footprint, code);
  if (footprint.end() < footprint.begin || !has_shadow(footprint.begin, footprint.end() - footprint.begin)) return;
  const RuntimeScope scope;
  ThreadState& self = *current.state;
  const SamplingEvent event(self);
  const std::uint64_t place = code_and_shape(code, {size_code(footprint.size), 0});
  if (is_unsampled(self)) {
    const std::uint64_t now = time_of_settling();
    self.range_number = 0;
    check_unsampled(self, kind, footprint, place);
    if (now != 0) remember(code, footprint, now);
    return;
  }
  const LongSamplingEvent timed(self, footprint.end() - footprint.begin);
  OriginId origin = cached_origin(place);
  if (origin == OriginId::kUnknown) origin = origin_of(self, place);
  self.range_number = 0;
  if (samples) {
    record_footprint(self, {kind, origin, code}, footprint);  // there are no regions
  } else {
    check_parts(self, {kind, origin, code}, footprint);
  }
  remember(code, footprint, current.epoch_bits);
}

template <AccessKind kKind>
[[gnu::always_inline]] inline bool is_settled_in_word(Address begin, Address end) {
  const Address word = begin & ~Address{7};
  return is_settled(*cell_of(word), kKind, current.epoch_bits, bytes_in_word(word, begin, end));
}

template <AccessKind kKind>
[[gnu::always_inline]] inline bool has_settled_bytes(Address begin, Address end) {
  const Address first = (begin + 7) & ~Address{7};
  const Address last = end & ~Address{7};
  if (begin < first && !is_settled_in_word<kKind>(begin, end < first ? end : first)) return false;
  if (skip_settled<kKind>(first, last) < last) return false;
  return end <= first || last == end || is_settled_in_word<kKind>(last, end);
}

template <AccessKind kKind>
bool has_settled_elements(const Footprint& footprint) {
  for (std::uint64_t at = 0; at < footprint.count; ++at) {
    const Address begin = footprint.begin + at * footprint.step;
    const Address end = begin + footprint.size;
    const bool is_in_word = begin / 8 == (end - 1) / 8;
    if (is_in_word ? !is_settled_in_word<kKind>(begin, end) : !has_settled_bytes<kKind>(begin, end)) return false;
  }
  return true;
}

// All of it is settled in the cells. For short ones that are in another place each time:
// it is quicker to look than to prepare for an update.
template <AccessKind kKind>
bool is_short_and_settled(const Footprint& footprint) {
  constexpr std::uint64_t kShort = 4096;  // bytes
  if (current.epoch_bits == 0) return false;
  const Address end = footprint.end();
  if (end - footprint.begin > kShort || !has_shadow(footprint.begin, end - footprint.begin)) return false;
  // The cells of regions are empty, and better not touched.
  if (region_at(footprint.begin) != RegionId::kNone) return false;
  if (footprint.is_dense()) return has_settled_bytes<kKind>(footprint.begin, end);
  return has_settled_elements<kKind>(footprint);
}
bool is_short_and_settled(AccessKind kind, const Footprint& footprint) {
  return kind == AccessKind::kWrite ? is_short_and_settled<AccessKind::kWrite>(footprint)
                                    : is_short_and_settled<AccessKind::kRead>(footprint);
}

// As many bytes without gaps are looked at again as quickly as they are remembered.
constexpr std::uint64_t kFewBytes = 512;

[[gnu::always_inline]] inline void check_range_of(AccessKind kind, const Footprint& footprint, Address code) {
  if (footprint.count == 0 || is_settled_range(code, footprint)) return;
  if (samples) {
    if (is_left_alone() && has_no_record(footprint.begin, footprint.end() - footprint.begin)) return;
    return check_footprint(kind, footprint, code);
  }
  if (!is_short_and_settled(kind, footprint)) return check_footprint(kind, footprint, code);
  if (!footprint.is_dense() || footprint.end() - footprint.begin > kFewBytes) {
    remember(code, footprint, current.epoch_bits);
  }
}

// As the pass encodes it: pass/range_shape.h.
AccessKind kind_of(std::uint64_t shape) { return (shape & 1) != 0 ? AccessKind::kWrite : AccessKind::kRead; }
std::uint32_t size_of(std::uint64_t shape) { return static_cast<std::uint32_t>(shape >> 1); }

// One dimension of a loop nest, its step not negative.
struct Dimension {
  std::uint64_t step = 0;
  std::uint64_t count = 0;
};

// Turns the dimension such that it goes upwards from a lower start.
Dimension upwards(Address& start, std::int64_t step, std::uint64_t count) {
  if (step == 0 && count > 1) count = 1;
  if (step >= 0 || count == 0) return {static_cast<std::uint64_t>(step), count};
  start += static_cast<std::uint64_t>(step) * (count - 1);
  return {static_cast<std::uint64_t>(-step), count};
}

Footprint one_dimension(Address start, Dimension dimension, std::uint32_t size) {
  // A step of 0 would be divided by; there is one element then.
  return {start, dimension.count <= 1 ? size : dimension.step, dimension.count, size};
}

}  // namespace

void check_range(Address start, std::int64_t step, std::uint64_t count, std::uint64_t shape, Address code) {
  const Dimension dimension = upwards(start, step, count);
  check_range_of(kind_of(shape), one_dimension(start, dimension, size_of(shape)), code);
}

}  // namespace deadheat::runtime

using namespace deadheat;
using namespace deadheat::runtime;

#define ENTRY extern "C" __attribute__((visibility("default")))
#define CALLER (reinterpret_cast<Address>(__builtin_return_address(0)))

// Stands for an inline check inside the compiler, and is here for code that was cut
// off from the pass that resolves it.
ENTRY void __deadheat_check(const void* address, std::uint64_t shape) {
  const std::uint64_t size_and_kind = shape & 0xffffffffU;
  check_access(kind_of(size_and_kind), reinterpret_cast<Address>(address), size_of(size_and_kind), CALLER, 0);
}

// `count` accesses, `step` bytes apart.
ENTRY void __deadheat_range(const void* start, std::int64_t step, std::uint64_t count, std::uint64_t shape) {
  check_range(reinterpret_cast<Address>(start), step, count, shape, CALLER);
}

// The same `count2` times, `step2` bytes apart.
ENTRY void __deadheat_range2(const void* start, std::int64_t step, std::uint64_t count, std::int64_t step2,
                             std::uint64_t count2, std::uint64_t shape) {
  auto address = reinterpret_cast<Address>(start);
  const std::uint32_t size = size_of(shape);
  Dimension inner = upwards(address, step, count);
  Dimension outer = upwards(address, step2, count2);
  if (inner.count == 0 || outer.count == 0) return;
  // A column after the other is a row after the other.
  if (inner.count == 1 || (outer.count != 1 && outer.step < inner.step)) {
    const Dimension swapped = inner;
    inner = outer;
    outer = swapped;
  }
  if (outer.count == 1 || outer.step == inner.step * inner.count) {
    inner.count *= outer.count;
    return check_range_of(kind_of(shape), one_dimension(address, inner, size), CALLER);
  }
  // Not one range: a rectangle of a larger one.
  const Address code = CALLER;
  for (std::uint64_t row = 0; row < outer.count; ++row) {
    check_range_of(kind_of(shape), one_dimension(address + row * outer.step, inner, size), code);
  }
}
