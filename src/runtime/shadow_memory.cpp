// SPDX-License-Identifier: Apache-2.0
#include "runtime/shadow_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "runtime/cell_blocks.h"
#include "runtime/page_source.h"
#include "runtime/sampling.h"
#include "runtime/shadow_pages.h"
#include "runtime/slim_regions.h"
#include "runtime/system.h"
#include "runtime/thread_state.h"

namespace deadheat::runtime {

std::uint64_t shadow_key = 0;

namespace {

// The address space in units of 2^40 bytes. The cells of unit u are the units
// 2u and 2u + 1, modulo 128, with the key applied.
constexpr int kUnitShift = 40;
constexpr std::uint32_t kUnits = 1U << (47 - kUnitShift);
constexpr std::uint32_t kPreferredKey = 0x1c;
constexpr std::size_t kUnitBytes = std::size_t{1} << kUnitShift;
constexpr std::uint32_t kBelowMappings = 8;  // units below the highest mapping that mmap may grow into

// Which units have cells. Written under `growing`, read without.
std::atomic<bool> covered[kUnits];
SpinLock growing;

struct Layout {
  bool program[kUnits] = {};  // the program is or will be there
};

std::uint32_t unit_of(Address address) { return static_cast<std::uint32_t>(address >> kUnitShift) & (kUnits - 1); }
std::uint32_t cell_unit(std::uint32_t unit, std::uint32_t half, std::uint32_t key) {
  return ((2 * unit + half) % kUnits) ^ key;
}
bool is_cell_unit(std::uint32_t wanted, std::uint32_t key) {
  for (std::uint32_t unit = 0; unit < kUnits; ++unit) {
    if (!covered[unit].load(std::memory_order_relaxed)) continue;
    if (cell_unit(unit, 0, key) == wanted || cell_unit(unit, 1, key) == wanted) return true;
  }
  return false;
}

bool add_mapping(const Mapping& mapping, void* context) {
  auto& layout = *static_cast<Layout*>(context);
  if (mapping.begin >= kAddressEnd) return true;
  const std::uint32_t first = unit_of(mapping.begin);
  for (std::uint32_t unit = first; unit <= unit_of(mapping.end - 1); ++unit) layout.program[unit] = true;
  // The heap of brk grows upwards from the executable.
  if (first < 0x70 && first + 1 < kUnits) layout.program[first + 1] = true;
  return true;
}

Layout current_layout() {
  Layout layout;
  if (!for_each_mapping(add_mapping, &layout)) {
    // No /proc: what the kernel does by default.
    layout.program[0x55] = layout.program[0x56] = layout.program[0x57] = true;
    layout.program[kUnits - 1] = true;
  }
  layout.program[0] = true;
  std::uint32_t lowest = kUnits - 1;
  while (lowest > 0x60 && layout.program[lowest]) --lowest;
  for (std::uint32_t more = 0; more < kBelowMappings && lowest > 0x60; ++more) layout.program[lowest--] = true;
  return layout;
}

bool fits(const Layout& layout, std::uint32_t key) {
  bool cells[kUnits] = {};
  for (std::uint32_t unit = 0; unit < kUnits; ++unit) {
    if (!layout.program[unit]) continue;
    for (std::uint32_t half = 0; half < 2; ++half) {
      const std::uint32_t target = cell_unit(unit, half, key);
      if (layout.program[target] || cells[target]) return false;
      cells[target] = true;
    }
  }
  return true;
}

// Reserves the cells of one unit. Unit 0 of the address space begins at
// mmap_min_addr; a key that puts cells there is not usable.
bool reserve_unit(std::uint32_t unit, std::uint32_t key) {
  for (std::uint32_t half = 0; half < 2; ++half) {
    auto* target = reinterpret_cast<void*>(Address{cell_unit(unit, half, key)} << kUnitShift);
    void* got = target == nullptr ? MAP_FAILED
                                  : raw_mmap(target, kUnitBytes, PROT_READ | PROT_WRITE,
                                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE);
    if (got != target) {
      if (got != MAP_FAILED) raw_munmap(got, kUnitBytes);  // a kernel that does not know NOREPLACE
      if (half == 1) raw_munmap(reinterpret_cast<void*>(Address{cell_unit(unit, 0, key)} << kUnitShift), kUnitBytes);
      return false;
    }
    raw_madvise(target, kUnitBytes, MADV_DONTDUMP);
    raw_madvise(target, kUnitBytes, MADV_NOHUGEPAGE);
  }
  covered[unit].store(true, std::memory_order_release);  // pairs with has_shadow()
  return true;
}

void give_back(std::uint32_t key) {
  for (std::uint32_t unit = 0; unit < kUnits; ++unit) {
    if (!covered[unit].load(std::memory_order_relaxed)) continue;
    for (std::uint32_t half = 0; half < 2; ++half) {
      raw_munmap(reinterpret_cast<void*>(Address{cell_unit(unit, half, key)} << kUnitShift), kUnitBytes);
    }
    covered[unit].store(false, std::memory_order_relaxed);
  }
}

bool reserve_all(const Layout& layout, std::uint32_t key) {
  for (std::uint32_t unit = 0; unit < kUnits; ++unit) {
    if (layout.program[unit] && !reserve_unit(unit, key)) {
      give_back(key);
      return false;
    }
  }
  shadow_key = Address{key} << kUnitShift;
  return true;
}

constexpr std::size_t kPage = 4096;
constexpr std::size_t kPiece = kPage / 2;  // bytes of the program that one page of cells describes
constexpr std::size_t kSmall = 64 * 1024;  // of the program: below, zeros are written without asking what is in use
// Of the program: from here on unused pages are given back. Giving back interrupts
// all processors and costs a page fault per page later; writing zeros costs less
// as long as the cells are in the cache.
constexpr std::size_t kLarge = 4 * 1024 * 1024;

void clear_cells(ShadowCell* begin, ShadowCell* end) {
  for (ShadowCell* cell = begin; cell != end; ++cell) {
    // Who clears owns the memory; only a racing access can come in between, and
    // then a block is lost at worst.
    const std::uint64_t second = cell->entries[1].load(std::memory_order_relaxed);
    if (second != 0) cell->entries[1].store(0, std::memory_order_relaxed);
    if (is_link(second)) release_chain(self(), second);
    if (cell->entries[0].load(std::memory_order_relaxed) != 0) cell->entries[0].store(0, std::memory_order_relaxed);
  }
}

void release_chains(Address first, Address last, void* /*context*/) {
  const ShadowCell* const end = cell_of(last - 1) + 1;
  for (const ShadowCell* cell = cell_of(first); cell != end; ++cell) {
    const std::uint64_t second = cell->entries[1].load(std::memory_order_relaxed);
    if (is_link(second)) release_chain(self(), second);
  }
}

}  // namespace

ShadowState map_shadow() {
  const Layout layout = current_layout();
  if (fits(layout, kPreferredKey) && reserve_all(layout, kPreferredKey)) return ShadowState::kReady;
  for (std::uint32_t key = 0; key < kUnits; ++key) {
    if (fits(layout, key) && reserve_all(layout, key)) return ShadowState::kReady;
  }
  return ShadowState::kNoRoom;
}

bool has_shadow(Address begin, std::size_t size) {
  const Address last = begin + (size == 0 ? 0 : size - 1);
  if (last >= kAddressEnd || last < begin) return false;
  // Acquire pairs with reserve_unit(): the reservation is visible.
  return covered[unit_of(begin)].load(std::memory_order_acquire) &&
         covered[unit_of(last)].load(std::memory_order_acquire);
}

bool cover(Address begin, std::size_t size) {
  if (has_shadow(begin, size)) return true;
  const Address last = begin + (size == 0 ? 0 : size - 1);
  if (last >= kAddressEnd || last < begin) return false;
  const std::uint32_t key = static_cast<std::uint32_t>(shadow_key >> kUnitShift);
  SpinHolder hold(growing);
  for (std::uint32_t unit = unit_of(begin); unit <= unit_of(last); ++unit) {
    if (covered[unit].load(std::memory_order_relaxed)) continue;
    if (is_cell_unit(unit, key) || is_cell_unit(cell_unit(unit, 0, key), key)) return false;
    if (!reserve_unit(unit, key)) return false;
  }
  return true;
}

namespace {

// Which pages of cells there are, as mincore(2) says: a byte each.
struct Residence {
  unsigned char* pages = nullptr;
  std::size_t limit = 0;
};

void visit_used_part(Address begin, Address end, Residence residence, void (*visit)(Address, Address, void*),
                     void* context) {
  for (Address at = begin & ~(kPiece - 1); at < end; at += kPiece * residence.limit) {
    const std::size_t left = (end - at + kPiece - 1) / kPiece;
    const std::size_t pages = left < residence.limit ? left : residence.limit;
    const bool is_known = raw_call(SYS_mincore, reinterpret_cast<long>(cell_of(at)) & ~static_cast<long>(kPage - 1),
                                   static_cast<long>(pages * kPage), reinterpret_cast<long>(residence.pages)) == 0;
    for (std::size_t page = 0; page < pages; ++page) {
      if (is_known && page % 8 == 0) {
        // Eight at a time while there are none.
        while (page + 8 <= pages && *reinterpret_cast<const std::uint64_t*>(residence.pages + page) == 0) page += 8;
        if (page == pages) break;
      }
      if (is_known && (residence.pages[page] & 1) == 0) continue;
      const Address piece = at + page * kPiece;
      const Address first = piece < begin ? begin : piece;
      const Address last = piece + kPiece > end ? end : piece + kPiece;
      if (last > first) visit(first, last, context);
    }
  }
}

}  // namespace

void for_each_used_part(Address begin, std::size_t size, void (*visit)(Address first, Address last, void* context),
                        void* context) {
  const Address end = begin + size;
  if (samples && size < kLarge) {
    for (Address at = begin; at < end; at = end_of_granule(at)) {
      if (may_have_records(at)) visit(at, end < end_of_granule(at) ? end : end_of_granule(at), context);
    }
    return;
  }
  if (size <= kSmall) return visit(begin, end, context);
  // A terabyte of address space has hundreds of millions of pages of cells.
  constexpr std::size_t kHuge = 64 << 20;
  constexpr std::size_t kManyPages = 64 << 10;
  alignas(8) unsigned char few[256];
  Residence residence{few, sizeof few};
  if (size >= kHuge) {
    if (void* many = PageSource::try_allocate(kManyPages)) residence = {static_cast<unsigned char*>(many), kManyPages};
  }
  visit_used_part(begin, end, residence, visit, context);
  if (residence.pages != few) PageSource::release(residence.pages, kManyPages);
}

void clear_shadow(Address begin, std::size_t size) {
  if (size == 0 || !has_shadow(begin, size)) return;
  ++current.forgotten;
  forget_in_regions(begin, size);
  if (size <= kSmall && !samples) {
    prepare_cells(begin, size);
    return clear_cells(cell_of(begin), cell_of(begin + size - 1) + 1);
  }
  if (size >= kLarge) return give_back_shadow(begin, size);
  for_each_used_part(
      begin, size,
      [](Address first, Address last, void* /*context*/) { clear_cells(cell_of(first), cell_of(last - 1) + 1); },
      nullptr);
}

void give_back_shadow(Address begin, std::size_t size) {
  if (size == 0 || !has_shadow(begin, size)) return;
  ++current.forgotten;
  forget_in_regions(begin, size);
  ShadowCell* first = cell_of(begin);
  ShadowCell* end = cell_of(begin + size - 1) + 1;
  if (end <= first) return;  // over the edge of a fold; the program has no such block
  auto* page_begin = reinterpret_cast<ShadowCell*>((reinterpret_cast<Address>(first) + kPage - 1) & ~(kPage - 1));
  auto* page_end = reinterpret_cast<ShadowCell*>(reinterpret_cast<Address>(end) & ~(kPage - 1));
  if (page_end <= page_begin) return clear_cells(first, end);
  clear_cells(first, page_begin);
  const auto bytes = static_cast<std::size_t>(page_end - page_begin) * sizeof(ShadowCell);
  if (blocks_in_use() != 0) {
    const Address middle = (begin & ~Address{7}) + static_cast<Address>(page_begin - first) * 8;
    for_each_used_part(middle, bytes / 2, release_chains, nullptr);
  }
  raw_madvise(page_begin, bytes, MADV_DONTNEED);
  cells_are_given_back(begin, size);
  clear_cells(page_end, end);
}

namespace {

// Walks the pages of cells that exist, by the system's page map: 8 bytes per page,
// bit 63 present, bit 62 swapped out.
struct PageWalk {
  long file = -1;
  void (*visit)(char* page, void* context) = nullptr;
  void* context = nullptr;
};

void walk_pages(const PageWalk& walk, Address begin, Address end) {
  constexpr std::uint64_t kExists = (std::uint64_t{1} << 63) | (std::uint64_t{1} << 62);
  std::uint64_t pages[512];
  while (begin < end) {
    const std::size_t wanted = (end - begin) / kPage < 512 ? (end - begin) / kPage : 512;
    const long got = raw_call(SYS_pread64, walk.file, reinterpret_cast<long>(pages), static_cast<long>(wanted * 8),
                              static_cast<long>(begin / kPage * 8));
    if (got <= 0) return;
    const std::size_t count = static_cast<std::size_t>(got) / 8;
    for (std::size_t index = 0; index < count; ++index) {
      if ((pages[index] & kExists) != 0) walk.visit(reinterpret_cast<char*>(begin + index * kPage), walk.context);
    }
    begin += count * kPage;
  }
}

bool walk_mapping(const Mapping& mapping, void* context) {
  if (mapping.begin >= kAddressEnd || !mapping.is_readable) return true;
  if (!has_shadow(mapping.begin, mapping.end - mapping.begin)) return true;
  const Address first = reinterpret_cast<Address>(cell_of(mapping.begin)) & ~(kPage - 1);
  const Address last = reinterpret_cast<Address>(cell_of(mapping.end - 1));
  if (last >= first) walk_pages(*static_cast<PageWalk*>(context), first, (last & ~(kPage - 1)) + kPage);
  return true;
}

void for_each_page(void (*visit)(char* page, void* context), void* context) {
  PageWalk walk;
  walk.file = raw_call(SYS_openat, AT_FDCWD, reinterpret_cast<long>("/proc/self/pagemap"), O_RDONLY | O_CLOEXEC);
  if (walk.file < 0) return;
  walk.visit = visit;
  walk.context = context;
  for_each_mapping(walk_mapping, &walk);
  raw_call(SYS_close, walk.file);
}

struct CellVisit {
  void (*visit)(ShadowCell& cell, void* context);
  void* context;
};

}  // namespace

void for_each_cell(void (*visit)(ShadowCell& cell, void* context), void* context) {
  CellVisit inner{visit, context};
  for_each_page(
      [](char* page, void* data) {
        const auto& wanted = *static_cast<CellVisit*>(data);
        auto* cells = reinterpret_cast<ShadowCell*>(page);
        for (std::size_t index = 0; index < kPage / sizeof(ShadowCell); ++index) {
          wanted.visit(cells[index], wanted.context);
        }
      },
      &inner);
}

std::size_t shadow_resident() {
  std::size_t pages = 0;
  for_each_page([](char*, void* data) { ++*static_cast<std::size_t*>(data); }, &pages);
  return pages * kPage;
}

void drop_all_shadow() {
  ++current.forgotten;
  forget_all_regions();
  all_cells_are_given_back();
  const std::uint32_t key = static_cast<std::uint32_t>(shadow_key >> kUnitShift);
  for (std::uint32_t unit = 0; unit < kUnits; ++unit) {
    if (!covered[unit].load(std::memory_order_relaxed)) continue;
    for (std::uint32_t half = 0; half < 2; ++half) {
      raw_madvise(reinterpret_cast<void*>(Address{cell_unit(unit, half, key)} << kUnitShift), kUnitBytes,
                  MADV_DONTNEED);
    }
  }
}

}  // namespace deadheat::runtime
