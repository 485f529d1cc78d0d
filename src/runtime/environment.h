// SPDX-License-Identifier: Apache-2.0
// The environment as it was when the process started. getenv() may not work yet
// when the runtime starts, and the program may change what it returns.
#pragma once

namespace deadheat::runtime {

// nullptr if not set; the text lives as long as the process.
[[nodiscard]] const char* environment(const char* name);

}  // namespace deadheat::runtime
