// SPDX-License-Identifier: Apache-2.0
// Functions that the program may define to hear from its race detector, under
// the names of TSan's interface: __tsan_on_initialize, __tsan_on_finalize,
// __tsan_on_report. Each does nothing if the program has none.
//
// The hooks run inside a RuntimeScope: what they call of libc goes straight to
// libc, so that a hook may print, and takes no part in detection.
#pragma once

#include "runtime/finding_packet.h"
#include "runtime/thread_registry.h"

namespace deadheat::runtime {

// Once, when the runtime is ready.
void tell_program_of_start();

// At the end of the process, after the handlers of the program: `failed` says
// whether races were found, the result whether the exit status shall say so.
[[nodiscard]] int ask_program_at_end(int failed);

// In the thread that found the race, while no lock of the runtime is held. The
// hook may ask for details of it by __tsan_get_report_*.
void tell_program_of_race(ThreadState& self, const RaceSides& sides);

}  // namespace deadheat::runtime
