// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace deadheat::watch {

// The thread that exists already, at the start of the agent. False and -errno if it gets no
// breakpoint.
[[nodiscard]] bool watch_main_thread(std::uint32_t slots, int& error);

}  // namespace deadheat::watch
