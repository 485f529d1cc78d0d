// SPDX-License-Identifier: Apache-2.0
// What stands behind the standard descriptors, and whether to use colour.
#pragma once

#include <cstdint>

#include "report/finding_text.h"

namespace deadheat {

enum class ColourChoice : std::uint8_t { kAuto, kAlways, kNever };

// kAuto means colour on a terminal, unless NO_COLOR is set and not empty or TERM
// is "dumb".
[[nodiscard]] ColourMode colour_for(ColourChoice choice, int descriptor);

[[nodiscard]] bool is_terminal(int descriptor);

// A program started with descriptor 0, 1 or 2 closed would get the next file it
// opens under that number, and messages would go into it. This fills the gaps
// with something that cannot be written to. Call it first in main().
void reserve_standard_descriptors();

}  // namespace deadheat
