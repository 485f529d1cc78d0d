// SPDX-License-Identifier: Apache-2.0
// Records of many words at once: where nothing is recorded yet (FreshGranules in shadow_pages.h), which in a sampling
// period is where most loops over arrays come to first, and where nothing but loops has recorded anything
// (BulkGranule).
#pragma once

#include "core/cell_entry.h"
#include "core/footprint.h"
#include "model/identity.h"
#include "runtime/thread_registry.h"

namespace deadheat::runtime {

// Records an access to the bytes [begin, end), as far as nothing is recorded in their granules: returns up to where,
// `begin` if nowhere. `own` is the entry of a word, whatever its bytes. Inside a RuntimeScope, by a thread that
// samples.
[[nodiscard]] Address fill_fresh_cells(Address begin, Address end, CellEntry own);

// Each element lies in a word that it has for itself.
[[nodiscard]] constexpr bool has_word_per_element(const Footprint& footprint) {
  return footprint.step % 8 == 0 && footprint.step != 0 && (footprint.begin & 7) + footprint.size <= 8;
}
// The same for a footprint of such elements: returns up to where elements begin that are recorded.
[[nodiscard]] Address fill_fresh_cells(const Footprint& elements, CellEntry own);

// Records an access to the bytes [begin, end) of a granule that the thread has taken (BulkGranule). Returns up to
// where: the rest needs more than a store, because it races, perhaps, or has too many entries.
[[nodiscard]] Address record_in_bulk(Address begin, Address end, CellEntry own, const ThreadView& view);
// The same for elements that have a word for themselves each.
[[nodiscard]] Address record_in_bulk(const Footprint& elements, CellEntry own, const ThreadView& view);

}  // namespace deadheat::runtime
