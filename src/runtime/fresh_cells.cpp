// SPDX-License-Identifier: Apache-2.0
#include "runtime/fresh_cells.h"

#include <atomic>

#include "runtime/access_check.h"
#include "runtime/shadow_memory.h"
#include "runtime/shadow_pages.h"

namespace deadheat::runtime {
namespace {

void put(Address word, CellEntry own, ByteMask mask) {
  cell_of(word)->entries[0].store(own.without_bytes(0xff).with_bytes(mask).bits(), std::memory_order_relaxed);
}

}  // namespace

Address fill_fresh_cells(Address begin, Address end, CellEntry own) {
  const FreshGranules fresh(begin, end);
  const Address last = fresh.end() < end ? fresh.end() : end;
  if (last <= begin) return begin;
  const Address first_whole = (begin + 7) & ~Address{7};
  const Address end_of_whole = last & ~Address{7};
  if (first_whole > end_of_whole) {
    put(begin & ~Address{7}, own, bytes_in_word(begin & ~Address{7}, begin, last));
    return last;
  }
  if (begin != first_whole) put(first_whole - 8, own, bytes_in_word(first_whole - 8, begin, last));
  const std::uint64_t whole = own.with_bytes(0xff).bits();
  ShadowCell* const cells_end = cell_of(first_whole) + (end_of_whole - first_whole) / 8;
  for (ShadowCell* cell = cell_of(first_whole); cell != cells_end; ++cell) {
    cell->entries[0].store(whole, std::memory_order_relaxed);
  }
  if (last != end_of_whole) put(end_of_whole, own, bytes_in_word(end_of_whole, begin, last));
  return last;
}

Address fill_fresh_cells(const Footprint& elements, CellEntry own) {
  const Address end = elements.end();
  // Granules between elements that are far apart are nobody's.
  const bool is_close = elements.step <= Address{1} << kGranuleShift;
  const FreshGranules fresh(elements.begin, is_close ? end : end_of_granule(elements.begin));
  const Address last = fresh.end() < end ? fresh.end() : end;
  const ByteMask mask = bytes_in_word(elements.begin & ~Address{7}, elements.begin, elements.begin + elements.size);
  const std::uint64_t entry = own.without_bytes(0xff).with_bytes(mask).bits();
  Address element = elements.begin;
  for (; element < last; element += elements.step) {
    cell_of(element)->entries[0].store(entry, std::memory_order_relaxed);
  }
  return element;
}

}  // namespace deadheat::runtime
