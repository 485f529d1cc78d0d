// SPDX-License-Identifier: Apache-2.0
// How much the pass does. The wrapper chooses with -mllvm options; everything is
// on without them.
#pragma once

#include <cstdint>

namespace deadheat::pass {

enum class Level : std::uint8_t {
  kPlain,  // every access has a check of its own, at its place
  kFull,   // redundant checks are left out, those of loops made once
};

[[nodiscard]] Level level();

}  // namespace deadheat::pass
