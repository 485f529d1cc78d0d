// SPDX-License-Identifier: Apache-2.0
// Native: the program runs as it would alone. What the run teaches is kept all the same:
// the first run of a hunt is one of these.
#pragma once

#include "schedule/strategy.h"

namespace deadheat::schedule {

class Native final : public Strategy {};

}  // namespace deadheat::schedule
