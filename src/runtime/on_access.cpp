// SPDX-License-Identifier: Apache-2.0
// The slow ends of the accesses: everything but "seen already in this epoch".
//
// Each word's cell follows the rules of core/cell_rules.h. An access publishes its
// own entry by one compare-and-swap and then looks at the other entries. The
// compare-and-swap is a full barrier, so of two threads that do this at the same
// time the later one in the total order sees the other's entry: no race is lost
// between them. An entry that is replaced was looked at before, and the
// compare-and-swap says that it had not changed.
//
// Whether an entry happens before is asked with the base of its slot (slots.h),
// which changes only after a sweep has removed all entries of the slot. So the
// answer is right if the entry is still there afterwards: true of the replaced
// entry, whose compare-and-swap succeeded; the others are read again before a
// race is reported.
//
// No lock is taken here. The scope only keeps signal handlers of the program out
// of the thread's own tables.
#include "runtime/on_access.h"

#include "core/cell_rules.h"
#include "runtime/access_check.h"
#include "runtime/cell_blocks.h"
#include "runtime/cell_chains.h"
#include "runtime/cold_sampling.h"
#include "runtime/counters.h"
#include "runtime/footprints.h"
#include "runtime/foreign_code.h"
#include "runtime/races.h"
#include "runtime/racy_words.h"
#include "runtime/record.h"
#include "runtime/sampled_access.h"
#include "runtime/sampling.h"
#include "runtime/settle.h"
#include "runtime/shadow_memory.h"
#include "runtime/shadow_pages.h"
#include "runtime/slim_regions.h"
#include "runtime/start.h"
#include "runtime/thread_registry.h"
#include "runtime/unsampled.h"

namespace deadheat::runtime {

std::atomic<UpdateMode> update_mode{UpdateMode::kAlone};

void raise_update_mode(UpdateMode mode) {
  UpdateMode now = update_mode.load(std::memory_order_relaxed);
  while (now < mode && !update_mode.compare_exchange_weak(now, mode, std::memory_order_seq_cst)) {
  }
}

namespace {

// After the own entry was published: something is wrong with one of the others, or
// has changed.
[[gnu::noinline]] void look_again(ThreadState& self, ShadowCell& cell, CellEntry replaced, const CellAccess& access,
                                  Address word, bool replaced_races) {
  CaughtRaces caught;
  if (replaced_races) caught.add(replaced);
  look_at_all(cell, access, ThreadView(self), caught);
  if (samples) keep_visible(cell);
  caught.report(self, access, word);
}

[[gnu::always_inline]] inline Outcome check_once(ThreadState& self, ShadowCell& cell, const CellAccess& access,
                                                 Address word) {
  const CellEntry seen[2] = {CellEntry::from_bits(cell.entries[0].load(std::memory_order_acquire)),
                             CellEntry::from_bits(cell.entries[1].load(std::memory_order_acquire))};
  if (is_link(seen[1].bits())) [[unlikely]]
    return check_chain(self, cell, seen[1].bits(), access, word);
  const ThreadView view(self);
  const CellPlan plan = plan_access(seen, access, view);
  if (plan.step == CellPlan::Step::kNothing) return Outcome::kDone;
  if (plan.step == CellPlan::Step::kExtend) return extend_cell(self, cell, seen, access, word);

  const CellEntry replaced = seen[plan.index];
  const CellEntry other = seen[1 - plan.index];
  const bool replaced_races = is_race(replaced, access, view);
  const bool other_races = is_race(other, access, view);
  if (!replace_entry(cell.entries[plan.index], replaced.bits(), plan.value.bits())) return Outcome::kAgain;
  const bool other_changed = cell.entries[1 - plan.index].load(std::memory_order_seq_cst) != other.bits();
  if (replaced_races || other_races || other_changed) [[unlikely]]
    look_again(self, cell, replaced, access, word, replaced_races);
  return Outcome::kDone;
}

void check_word(ThreadState& self, ShadowCell& cell, const CellAccess& access, Address word) {
  while (check_once(self, cell, access, word) == Outcome::kAgain) {
  }
  // Whatever became of a chain: when it shrinks, an entry of it comes to the second place, and who emptied the first
  // meanwhile has not seen it there.
  if (samples && cell.entries[1].load(std::memory_order_relaxed) != 0) keep_visible(cell);
}

void check_range(ThreadState& self, AccessKind kind, Address begin, std::size_t size, Address code, std::uint8_t flags);

}  // namespace

void look_at_changed(Address word, CellEntry own) {
  RuntimeScope scope;
  current.state->range_number = 0;
  const CellAccess access{own.epoch(), own.mask(), own.kind(), own.origin()};
  CaughtRaces caught;
  look_at_all(*cell_of(word), access, ThreadView(*current.state), caught);
  if (samples) keep_visible(*cell_of(word));
  caught.report(*current.state, access, word);
}

void check_access(AccessKind kind, Address address, std::size_t size, Address code, std::uint8_t flags) {
  if (current.inside != 0 || detection_is_off.load(std::memory_order_relaxed)) return;
  RuntimeScope scope;
  ThreadState& self = runtime::self();
  if (self.ignore.ignores(kind) || is_blind()) return;
  const SamplingEvent event(self);
  if (is_unsampled(self)) {
    number_range(self, size);
    return check_unsampled(self, kind, address, address + size, code_and_shape(code, shape_of(kind, size, flags)));
  }
  const RecordedStep step(self, access_event(self.clock.id(), kind, address, size, flags), code);
  // As without a recording, so that recordings say something about footprints.
  if (const RegionId region = region_at(address);
      region != RegionId::kNone && size <= 16 && region_at(address + size - 1) == region) {
    const std::uint64_t place = code_and_shape(code, shape_of(kind, size, flags));
    const RegionAccess access{
        cache_key(place), region, address, static_cast<std::uint32_t>(size), {kind, origin_of(self, place)}};
    return add_to_footprint(access);
  }
  check_range(self, kind, address, size, code, flags);
}

namespace {

// The same-epoch check of the hooks for the entries of a chain.
[[gnu::always_inline]] inline bool is_in_chain(AccessKind kind, const ShadowCell& cell, std::uint64_t link,
                                               CellEntry own) {
  const std::uint64_t care = CellEntry::care_bits(kind, own.bits() & CellEntry::kMaskBits);
  std::uint64_t next = link;
  do {
    const CellBlock* block = block_of(next);
    for (int index = 0; index < CellBlock::kEntries; ++index) {
      const std::uint64_t entry = block->entries[index].load(std::memory_order_acquire);
      if (((entry ^ own.bits()) & care) == 0) return cell.entries[1].load(std::memory_order_acquire) == link;
    }
    next = block->entries[CellBlock::kEntries - 1].load(std::memory_order_acquire);
  } while (is_link(next));
  return false;
}

// The same access as an own one in an earlier epoch, and nothing in the chain that it
// could race with. Long chains are looked through for what may go now and then, the
// more seldom the longer they are: that compares entries with each other.
template <AccessKind kKind>
bool settle_in_chain(ShadowCell& cell, std::uint64_t link, CellEntry own, Address word) {
  constexpr std::uint32_t kShort = 1 + CellBlock::kEntries;
  constexpr std::uint32_t kSeldom = 4;  // times the length
  const CellAccess access{own.epoch(), own.mask(), kKind, own.origin()};
  ThreadState& self = *current.state;
  const ThreadView view(self);
  std::atomic<std::uint64_t>* place = nullptr;
  std::uint64_t replaced = 0;
  std::uint32_t count = 0;
  bool races = false;
  ChainHash expected;
  for_each_place(cell, link, [&](std::atomic<std::uint64_t>& at, std::uint64_t bits) {
    ++count;
    const CellEntry entry = CellEntry::from_bits(bits);
    if (bits != 0 && !is_link(bits)) {
      races |= is_race(entry, access, view);
      if (place == nullptr && rules::is_same_access(entry, own)) {
        place = &at;
        replaced = bits;
        return expected.add(own.bits());
      }
    }
    expected.add(bits);
  });
  if (races || place == nullptr) return false;
  if (count > kShort && own.epoch().clock() % (kSeldom * count) == 0) return false;
  bool is_quiet = true;
  bool is_linked = true;
  {
    // A handler of the program that came in between would end the announcement.
    const RuntimeScope scope;
    const BlockUse use(self);
    if (cell.entries[1].load(std::memory_order_seq_cst) != link) return false;
    if (!replace_entry(*place, replaced, own.bits())) return false;
    ChainHash found;
    for_each_place(cell, link, [&](const std::atomic<std::uint64_t>&, std::uint64_t bits) { found.add(bits); });
    is_quiet = found == expected;
    is_linked = cell.entries[1].load(std::memory_order_seq_cst) == link;
  }
  if (!is_quiet || !is_linked) look_at_changed(word, own);
  // Unlinked meanwhile: what was put there may not be seen by others.
  return is_linked;
}

// The other common cases; false when they do not settle it.
template <AccessKind kKind>
[[gnu::always_inline]] inline bool settle_quickly(Address word, CellEntry own) {
  ShadowCell& cell = *cell_of(word);
  const std::uint64_t first = cell.entries[0].load(std::memory_order_acquire);
  const std::uint64_t second = cell.entries[1].load(std::memory_order_acquire);
  if (is_link(second)) {
    const bool settled = kKind != AccessKind::kFree &&
                         (is_in_chain(kKind, cell, second, own) || settle_in_chain<kKind>(cell, second, own, word));
    if (settled) count_if_racy(*current.state, cell, kKind, own.mask());
    return settled;
  }
  const ThreadView view(*current.state);
  const QuickPlan plan = quick_plan<kKind>(CellEntry::from_bits(first), CellEntry::from_bits(second), own, view);
  const Settled settled = carry_out(plan, cell, first, second, own);
  if (settled == Settled::kOtherChanged) [[unlikely]]
    look_at_changed(word, own);
  return settled != Settled::kNo;
}

// `origin` is worked out when it is needed, if it is not known yet.
template <AccessKind kKind, class Origin>
void check_words(ThreadState& self, Address begin, Address end, Origin&& origin) {
  CellAccess access;
  access.epoch = short_epoch(self.clock.epoch());
  access.kind = kKind;
  const std::uint64_t epoch_bits = std::uint64_t{access.epoch.bits()} << CellEntry::kEpochShift;
  for (Address word = begin & ~Address{7}; word < end; word += 8) {
    access.mask = bytes_in_word(word, begin, end);
    ShadowCell& cell = *cell_of(word);
    if (samples) [[unlikely]]
      note_sampled(self, kKind, word);
    if (kKind != AccessKind::kFree && is_settled(cell, kKind, epoch_bits, access.mask)) continue;
    if (access.origin == OriginId::kUnknown) access.origin = origin();
    if (settle_quickly<kKind>(word, access.entry())) continue;
    check_word(self, cell, access, word);
  }
}

template <class Origin>
void check_words_of(ThreadState& self, AccessKind kind, Address begin, Address end, Origin&& origin) {
  switch (kind) {
    case AccessKind::kRead:
      return check_words<AccessKind::kRead>(self, begin, end, origin);
    case AccessKind::kWrite:
      return check_words<AccessKind::kWrite>(self, begin, end, origin);
    case AccessKind::kFree:
      return check_words<AccessKind::kFree>(self, begin, end, origin);
    case AccessKind::kAtomicRead:
      return check_words<AccessKind::kAtomicRead>(self, begin, end, origin);
    case AccessKind::kAtomicWrite:
      return check_words<AccessKind::kAtomicWrite>(self, begin, end, origin);
  }
}

// The end of the stretch of pages from `begin` on that belong to the same region, or
// to none; `end` at most.
Address end_of_stretch(Address begin, Address end) {
  constexpr Address kPage = Address{1} << kSlimPageShift;
  const RegionId region = region_at(begin);
  Address at = (begin & ~(kPage - 1)) + kPage;
  while (at < end && region_at(at) == region) at += kPage;
  return at < end ? at : end;
}

void check_range(ThreadState& self, AccessKind kind, Address begin, std::size_t size, Address code,
                 std::uint8_t flags) {
  const std::uint64_t place = code_and_shape(code, shape_of(kind, size, flags));
  const Address end = begin + size;
  OriginId known = OriginId::kUnknown;
  const auto origin = [&] {
    if (known == OriginId::kUnknown) known = origin_of(self, place);
    return known;
  };
  number_range(self, size);
  const LongSamplingEvent timed(self, size);
  for (Address low = begin; low < end;) {
    const Address high = end_of_stretch(low, end);
    if (const RegionId region = region_at(low); region != RegionId::kNone) {
      SlimRaces races;
      const Footprint footprint = size <= 16 ? Footprint{low, high - low, 1, static_cast<std::uint32_t>(high - low)}
                                             : Footprint::dense(low, high);
      commit(self, region, footprint, {kind, origin(), size > 16}, races);
      races.report(self);
    } else {
      check_words_of(self, kind, low, high, origin);
    }
    low = high;
  }
}

template <AccessKind kKind, std::size_t kSize>
[[gnu::noinline]] void check_second(Address address, Address code, CellEntry own) {
  if (!settle_quickly<kKind>(address & ~Address{7}, own)) check_access(kKind, address, kSize, code, 0);
}

template <AccessKind kKind>
[[gnu::always_inline]] inline CellEntry own_entry(ByteMask mask, OriginId origin) {
  return CellEntry::from_bits(current.epoch_bits | CellEntry(ShortEpoch{}, mask, kKind, origin).bits());
}

template <std::size_t kSize>
[[gnu::always_inline]] inline std::uint64_t code_of_access(Address code) {
  constexpr AccessShape kShape{size_code(kSize), 0};
  return code_and_shape(code, kShape);
}

// An access to compressed shadow, which may cross its beginning or its end.
template <AccessKind kKind, std::size_t kSize>
[[gnu::noinline]] void check_in_region(Address address, Address code, OriginId origin, RegionId region) {
  if (region_at(address) != region || region_at(address + kSize - 1) != region) {
    return check_access(kKind, address, kSize, code, 0);
  }
  add_to_footprint({cache_key(code_of_access<kSize>(code)), region, address, kSize, {kKind, origin}});
}

// The region that an access which may cross words touches first. Where regions are,
// the cells are empty.
template <std::size_t kSize>
[[gnu::always_inline]] inline RegionId region_touched(Address address) {
  if (cell_of(address)->entries[0].load(std::memory_order_relaxed) == 0) {
    if (const RegionId region = region_at(address); region != RegionId::kNone) return region;
  }
  constexpr Address kPage = Address{1} << kSlimPageShift;
  if ((address & (kPage - 1)) <= kPage - kSize) [[likely]]
    return RegionId::kNone;
  return region_at(address + kSize - 1);
}

// In a process that samples: the access may be recorded or not.
template <AccessKind kKind, std::size_t kSize>
[[gnu::noinline]] void check_at_times(Address address, Address code) {
  if (current.inside != 0 || detection_is_off.load(std::memory_order_relaxed)) return;
  const RuntimeScope scope;
  ThreadState& self = runtime::self();
  if (fits_words<kSize>(address)) {
    if (is_outside_of_periods()) {
      static_cast<void>(empty_if_stale(address));  // the rest of it may have records all the same
      if (leaves_all<kSize>(address, kKind, ThreadView(self))) return;
    } else if (record_quickly<kKind, kSize>(self, address, code_of_access<kSize>(code))) {
      return;
    }
  }
  if (self.ignore.ignores(kKind)) return;
  const SamplingEvent event(self);
  const Address end = address + kSize;
  self.range_number = 0;
  if (is_unsampled(self)) return check_unsampled(self, kKind, address, end, code_of_access<kSize>(code));
  const std::uint64_t place = code_of_access<kSize>(code);
  OriginId origin = self.origins == nullptr ? OriginId::kUnknown : cached_in(self.origins, cache_key(place));
  if (origin == OriginId::kUnknown) origin = origin_of(self, place);
  check_words<kKind>(self, address, end, [origin] { return origin; });
}

// The origin is not among those used last. It stays unknown for a thread whose
// accesses must all take the slow path.
template <AccessKind kKind, std::size_t kSize>
[[gnu::noinline]] void find_origin_first(Address address, Address code) {
  if (samples) return check_at_times<kKind, kSize>(address, code);
  if (is_blind()) return;  // an address that does not suit its size
  OriginId origin = OriginId::kUnknown;
  if (current.origins != no_origins && current.inside == 0) {
    RuntimeScope scope;
    origin = origin_of(*current.state, code_of_access<kSize>(code));
  }
  bool settled = origin != OriginId::kUnknown;
  if (const RegionId region = region_touched<kSize>(address); settled && region != RegionId::kNone) {
    return check_in_region<kKind, kSize>(address, code, origin, region);
  }
  const Address end = address + kSize;
  for (Address word = address & ~Address{7}; settled && word < end; word += 8) {
    settled = settle_quickly<kKind>(word, own_entry<kKind>(bytes_in_word(word, address, end), origin));
  }
  if (!settled) check_access(kKind, address, kSize, code, 0);
}

template <AccessKind kKind>
[[gnu::noinline]] bool settle_shared_word(Address word, CellEntry own) {
  return settle_quickly<kKind>(word, own);
}

// One word of an access that lies in several.
template <AccessKind kKind>
[[gnu::always_inline]] inline bool settle_word(Address word, ByteMask mask, OriginId origin) {
  const CellEntry own = own_entry<kKind>(mask, origin);
  const Settled settled = settle_in_loop<kKind>(*cell_of(word), own);
  if (settled == Settled::kYes) [[likely]]
    return true;
  if (settled == Settled::kNo) return settle_shared_word<kKind>(word, own);
  look_at_changed(word, own);
  return true;
}

// Two whole words with the same entries, as vector code leaves them behind: what is
// right for one is right for the other.
template <AccessKind kKind>
[[gnu::always_inline]] inline bool settle_pair(ShadowCell* cells, CellEntry own) {
  if (update_mode.load(std::memory_order_relaxed) != UpdateMode::kAlone) return false;
  const std::uint64_t first = cells[0].entries[0].load(std::memory_order_relaxed);
  const std::uint64_t second = cells[0].entries[1].load(std::memory_order_relaxed);
  if (first != cells[1].entries[0].load(std::memory_order_relaxed)) return false;
  if (second != cells[1].entries[1].load(std::memory_order_relaxed)) return false;
  const QuickPlan plan = next_in_loop<kKind>(CellEntry::from_bits(first), CellEntry::from_bits(second), own);
  if (plan != QuickPlan::kFirst && plan != QuickPlan::kSecond) return false;
  const int index = plan == QuickPlan::kSecond ? 1 : 0;
  cells[0].entries[index].store(own.bits(), std::memory_order_relaxed);
  cells[1].entries[index].store(own.bits(), std::memory_order_relaxed);
  return true;
}

}  // namespace

template <AccessKind kKind, std::size_t kSize>
void check_first(Address address, Address code) {
  static_assert(kSize <= 8);
  const std::uint64_t key = cache_key(code_of_access<kSize>(code));
  ShadowCell& cell = *cell_of(address);
  // As in regions, whose accesses come here most often of all.
  const bool is_empty = cell.entries[0].load(std::memory_order_relaxed) == 0;
  if (is_empty && continues_footprint(key, address)) return;
  const OriginId origin = cached_under(key);
  const bool is_aligned = kSize == 1 || (address & (kSize - 1)) == 0;
  if (origin == OriginId::kUnknown || !is_aligned) [[unlikely]]
    return find_origin_first<kKind, kSize>(address, code);
  const auto mask = static_cast<ByteMask>(((1U << kSize) - 1) << (address & 7));
  const CellEntry own = own_entry<kKind>(mask, origin);
  if (is_empty) {
    const RegionId region = region_at(address);
    if (region != RegionId::kNone) return check_in_region<kKind, kSize>(address, code, origin, region);
  }
  const Settled settled = settle_in_loop<kKind>(cell, own);
  if (settled == Settled::kYes) [[likely]]
    return;
  if (settled == Settled::kOtherChanged) [[unlikely]]
    return look_at_changed(address & ~Address{7}, own);
  check_second<kKind, kSize>(address, code, own);
}

template <AccessKind kKind, std::size_t kSize>
void check_across(Address address, Address code) {
  const std::uint64_t key = cache_key(code_of_access<kSize>(code));
  if (cell_of(address)->entries[0].load(std::memory_order_relaxed) == 0 && continues_footprint(key, address)) return;
  const OriginId origin = cached_under(key);
  if (origin == OriginId::kUnknown) [[unlikely]]
    return find_origin_first<kKind, kSize>(address, code);
  if (const RegionId region = region_touched<kSize>(address); region != RegionId::kNone) [[unlikely]]
    return check_in_region<kKind, kSize>(address, code, origin, region);
  if constexpr (kSize == 16) {
    if ((address & 7) == 0 && settle_pair<kKind>(cell_of(address), own_entry<kKind>(0xff, origin))) return;
  }
  const Address word = address & ~Address{7};
  const std::uint32_t bytes = ((1U << kSize) - 1) << (address & 7);
  bool settled = settle_word<kKind>(word, static_cast<ByteMask>(bytes), origin);
  if (settled && bytes > 0xff) settled = settle_word<kKind>(word + 8, static_cast<ByteMask>(bytes >> 8), origin);
  if constexpr (kSize > 8) {
    if (settled && bytes > 0xffff) settled = settle_word<kKind>(word + 16, static_cast<ByteMask>(bytes >> 16), origin);
  }
  if (!settled) [[unlikely]]
    check_access(kKind, address, kSize, code, 0);
}

#define INSTANTIATE(function, size)                                               \
  template void function<AccessKind::kRead, size>(Address address, Address code); \
  template void function<AccessKind::kWrite, size>(Address address, Address code);
INSTANTIATE(check_first, 1)
INSTANTIATE(check_first, 2)
INSTANTIATE(check_first, 4)
INSTANTIATE(check_first, 8)
INSTANTIATE(check_across, 2)
INSTANTIATE(check_across, 4)
INSTANTIATE(check_across, 8)
INSTANTIATE(check_across, 16)
#undef INSTANTIATE

namespace {

[[gnu::noinline]] bool is_settled_in_chain(AccessKind kind, const ShadowCell& cell, ByteMask mask) {
  const std::uint64_t link = cell.entries[1].load(std::memory_order_acquire);
  const auto own = CellEntry::from_bits(current.epoch_bits).with_bytes(mask);
  return is_link(link) && is_in_chain(kind, cell, link, own);
}

// The range is settled, some of it in chains: nobody else will look at it.
[[gnu::noinline]] void count_in_range(AccessKind kind, Address begin, Address end) {
  for (Address word = begin & ~Address{7}; word < end; word += 8) {
    count_if_racy(*current.state, *cell_of(word), kind, bytes_in_word(word, begin, end));
  }
}

// Every word of the range was accessed like this in this epoch.
[[gnu::always_inline]] inline bool is_settled_range(AccessKind kind, Address begin, std::size_t size) {
  const Address end = begin + size;
  bool is_in_chains = false;
  for (Address word = begin & ~Address{7}; word < end; word += 8) {
    const ShadowCell& cell = *cell_of(word);
    const ByteMask mask = bytes_in_word(word, begin, end);
    if (is_settled(cell, kind, current.epoch_bits, mask)) continue;
    if (!is_settled_in_chain(kind, cell, mask)) return false;
    is_in_chains = true;
  }
  if (is_in_chains) [[unlikely]]
    count_in_range(kind, begin, end);
  return true;
}

// Ranges of memory in compressed shadow have empty cells, which must stay so.
bool is_in_region(Address begin, std::size_t size) {
  return region_at(begin) != RegionId::kNone || region_at(begin + size - 1) != RegionId::kNone;
}

template <AccessKind kKind>
AtomicCheck begin_in_word(ThreadState& self, Address address, ByteMask mask, std::uint64_t code_and_shape) {
  if (samples) note_sampled(self, kKind, address);
  const CellEntry own(short_epoch(self.clock.epoch()), mask, kKind, origin_of(self, code_and_shape));
  switch (settle_in_loop<kKind>(*cell_of(address), own)) {
    case Settled::kYes:
      return AtomicCheck::kNothing;
    case Settled::kOtherChanged:
      return AtomicCheck::kLook;
    default:
      return AtomicCheck::kAll;
  }
}

}  // namespace

AtomicCheck begin_atomic_check(ThreadState& self, AccessKind kind, Address address, std::size_t size, Address code) {
  if (is_unsampled(self)) return has_no_record(address, size) ? AtomicCheck::kNothing : AtomicCheck::kAll;
  if (is_settled_range(kind, address, size) || self.ignore.ignores(kind)) return AtomicCheck::kNothing;
  if ((address & 7) + size > 8 || is_in_region(address, size)) return AtomicCheck::kAll;
  const ByteMask mask = bytes_in_word(address & ~Address{7}, address, address + size);
  const std::uint64_t origin = code_and_shape(code, shape_of(kind, size, 0));
  if (kind == AccessKind::kAtomicWrite) return begin_in_word<AccessKind::kAtomicWrite>(self, address, mask, origin);
  return begin_in_word<AccessKind::kAtomicRead>(self, address, mask, origin);
}

void finish_atomic_check(AtomicCheck left, ThreadState& self, AccessKind kind, Address address, std::size_t size,
                         Address code) {
  if (left == AtomicCheck::kAll) return check_atomic(self, kind, address, size, code);
  if (left == AtomicCheck::kNothing) return;
  const Address word = address & ~Address{7};
  const OriginId origin = origin_of(self, code_and_shape(code, shape_of(kind, size, 0)));
  look_at_changed(
      word, CellEntry(short_epoch(self.clock.epoch()), bytes_in_word(word, address, address + size), kind, origin));
}

void check_words_as(ThreadState& self, AccessKind kind, Address begin, Address end, OriginId origin) {
  if (&self == current.state) return check_words_of(self, kind, begin, end, [origin] { return origin; });
  CellAccess access{short_epoch(self.clock.epoch()), 0, kind, origin};
  for (Address word = begin & ~Address{7}; word < end; word += 8) {
    if (samples) note_sampled(self, kind, word);
    access.mask = bytes_in_word(word, begin, end);
    check_word(self, *cell_of(word), access, word);
  }
}

void check_atomic(ThreadState& self, AccessKind kind, Address address, std::size_t size, Address code) {
  if (is_unsampled(self)) {
    if (self.ignore.ignores(kind)) return;
    self.range_number = 0;
    return check_unsampled(self, kind, address, address + size, code_and_shape(code, shape_of(kind, size, 0)));
  }
  if (is_settled_range(kind, address, size) || self.ignore.ignores(kind)) return;
  check_range(self, kind, address, size, code, 0);
}

void on_range(ThreadState& self, AccessKind kind, Address begin, std::size_t size, Address code) {
  if (size == 0 || peek(current.runs_unchecked) != 0) return;
  if (self.ignore.ignores(kind) || detection_is_off.load(std::memory_order_relaxed)) return;
  if (kind != AccessKind::kFree && is_blind()) return;
  if (!has_shadow(begin, size)) return;
  if (is_left_alone() && has_no_record(begin, size)) return;
  if (!samples && kind != AccessKind::kFree && is_settled_range(kind, begin, size)) return;
  RuntimeScope scope;
  const SamplingEvent event(self);
  const std::uint8_t flags = size > 16 ? raw_report::kAccessRange : 0;
  if (is_unsampled(self)) {
    number_range(self, size);
    return check_unsampled(self, kind, begin, begin + size, code_and_shape(code, shape_of(kind, size, flags)));
  }
  const RecordedStep step(self, access_event(self.clock.id(), kind, begin, size, flags), code);
  check_range(self, kind, begin, size, code, flags);
}

void on_read(const volatile void* begin, std::size_t size, Address code) {
  if (size == 0 || current.inside != 0 || peek(current.runs_unchecked) != 0 ||
      !runtime_is_ready.load(std::memory_order_relaxed) || is_foreign_affair(code, begin))
    return;
  on_range(self(), AccessKind::kRead, reinterpret_cast<Address>(begin), size, code);
}

void on_write(const volatile void* begin, std::size_t size, Address code) {
  if (size == 0 || current.inside != 0 || peek(current.runs_unchecked) != 0 ||
      !runtime_is_ready.load(std::memory_order_relaxed) || is_foreign_affair(code, begin))
    return;
  on_range(self(), AccessKind::kWrite, reinterpret_cast<Address>(begin), size, code);
}

}  // namespace deadheat::runtime
