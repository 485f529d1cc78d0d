// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace deadheat::watch {

// Why there are no breakpoints; -errno of perf_event_open.
[[nodiscard]] const char* describe_breakpoint_error(int error);

}  // namespace deadheat::watch
