// SPDX-License-Identifier: Apache-2.0
// How much the pass does. The wrapper chooses with -mllvm options; everything is
// on without them.
#pragma once

#include <cstdint>

namespace deadheat::pass {

enum class Level : std::uint8_t {
  kCalls,  // the checks are calls that clang's own pass makes; only what it does not see is added
  kPlain,  // every access has a check of its own, at its place
  kFull,   // redundant checks are left out, those of loops made once
};

[[nodiscard]] Level level();

// Each function in two versions, one of them without checks (two_versions.h).
[[nodiscard]] bool makes_two_versions();

}  // namespace deadheat::pass
