// SPDX-License-Identifier: Apache-2.0
// Records of many words at once, where nothing is recorded yet (FreshGranules in shadow_pages.h): in a sampling
// period that is where most loops over arrays come to first.
#pragma once

#include "core/cell_entry.h"
#include "core/footprint.h"
#include "model/identity.h"

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

}  // namespace deadheat::runtime
