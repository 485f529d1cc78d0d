// SPDX-License-Identifier: Apache-2.0
// The threads of a small execution.
#pragma once

#include "model/identity.h"

namespace deadheat {

inline constexpr ThreadId kMain{0};
inline constexpr ThreadId kWorker{1};

}  // namespace deadheat
