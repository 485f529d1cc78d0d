// SPDX-License-Identifier: Apache-2.0
// Whether an agent can be loaded with a program that is started for `watch` or `record`: by the loader that the program
// names. Told from its file.
#pragma once

#include <string>

#include "base/result.h"

namespace deadheat {

// kUnsupported: an agent cannot be loaded with it, and why: linked statically, for musl, not for x86-64. A script is
// ok, and what cannot be read: what is wrong with that is said when it is started.
[[nodiscard]] Status check_preload(const std::string& path);

// Whether it begins with "#!".
[[nodiscard]] bool is_script(const std::string& path);

}  // namespace deadheat
