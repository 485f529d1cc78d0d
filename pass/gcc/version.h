// SPDX-License-Identifier: Apache-2.0
// Plugins and compilers share structures, so they must be of one version.
#pragma once

#include "gcc.h"

namespace deadheat::gcc_pass {

[[nodiscard]] bool is_known_version(const plugin_gcc_version& version);

}  // namespace deadheat::gcc_pass
