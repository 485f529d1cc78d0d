// SPDX-License-Identifier: Apache-2.0
// The layout that all text reports share: a label to the left of two spaces,
// the details to the right of them, stacks with their places in a column.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/dictionary.h"
#include "model/finding.h"

namespace deadheat {

// Colour is the caller's decision; the plain form has no escape sequences at all.
enum class ColourMode : std::uint8_t { kPlain, kColour };

enum class Paint : std::uint8_t { kBad, kLabel, kFunction, kGood };

[[nodiscard]] std::string painted(std::string_view text, Paint paint, ColourMode colour);

// One line; the label may be empty.
void add_line(std::string& out, std::string_view label, std::string_view text, ColourMode colour);

// One line per frame, innermost first as given. The frames by which std::thread calls the function that it was given
// are one line; the other forms of reports have them all.
void add_stack(std::string& out, std::span<const SiteId> stack, const Dictionary& dictionary, ColourMode colour);

// One side of a race: what it did, its stack, its locks. `acquired`: where the
// holding of each lock began, in the order of the locks, as far as that is known.
void add_access(std::string& out, std::string_view label, const RacingAccess& access,
                std::span<const std::vector<SiteId>> acquired, const Dictionary& dictionary, ColourMode colour);

}  // namespace deadheat
