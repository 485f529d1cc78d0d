// SPDX-License-Identifier: Apache-2.0
// Broadcasts on conditions by libraries that order threads by means of their own (foreign_code.h): a tag.
#pragma once

#include "model/identity.h"

namespace deadheat::runtime {

// A library may wake all who wait, and note by means that we do not see that nobody has to wait any more. So what
// was done before such a broadcast is given to this tag as well, for wrappers to take.
[[nodiscard]] Address foreign_broadcasts();

}  // namespace deadheat::runtime
