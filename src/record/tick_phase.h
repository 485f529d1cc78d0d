// SPDX-License-Identifier: Apache-2.0
// When to begin a processor's timer so that it fires together with the system's own tick.
//
// An interrupt costs a virtual machine about 20 microseconds, whatever is done in it, because the machine is left and
// entered again. A busy processor has one for every tick anyway (250 or 1000 a second), and the system handles all
// timers that are due in one interrupt. So a clock that samples 1000 times a second and is in phase with a tick of 250
// interrupts 750 times more, not 1000, and with a tick of 1000 not once more.
//
// Linux has its ticks at multiples of their period of CLOCK_MONOTONIC (since 6.4; before, and with the option
// skew_tick, anywhere), and a timer stays in the phase in which it was begun. A timer that misses the ticks samples as
// well and costs more, no harm is done.
#pragma once

#include <cstdint>
#include <vector>

#include "record/perf_ring.h"

namespace deadheat::record {

// The first moment from `now` on, in nanoseconds of CLOCK_MONOTONIC, when a timer may begin that shall meet as many
// ticks as it can. `now` if it cannot meet them regularly: neither period is a multiple of the other.
[[nodiscard]] std::uint64_t begin_in_phase(std::uint64_t now, std::uint64_t period, std::uint64_t tick);

// Turns on events that were opened disabled, each from its own processor and in phase. It takes a period or some for
// each processor, and a tenth of a second at most: what is left by then is turned on at once. kIo: refused by the
// system.
[[nodiscard]] Status turn_on_in_phase(const std::vector<PerfRing>& timers, std::uint64_t period);

}  // namespace deadheat::record
