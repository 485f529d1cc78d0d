// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace deadheat::watch {

// The calling thread, and from then on all that are created. False, with -errno, if it has no breakpoints.
[[nodiscard]] bool watch_main_thread(std::uint32_t slots, int& error);

// Those that are created from now on, in a process that was running already.
void watch_new_threads(std::uint32_t slots);

}  // namespace deadheat::watch
