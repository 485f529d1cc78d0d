// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace deadheat::record {

// Before main().
void log_main_thread();

}  // namespace deadheat::record
