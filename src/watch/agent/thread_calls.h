// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace deadheat::watch {

// The calling thread, and from then on all that are created. False if there is no record for it.
[[nodiscard]] bool watch_main_thread();

}  // namespace deadheat::watch
