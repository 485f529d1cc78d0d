// SPDX-License-Identifier: Apache-2.0
// What the backend `intel` asks of the processor: an interrupt every so many loads and stores, and its
// trace of branches (PT), limited to the code of the program by address filters.
//
// Numbers of types and bits are the system's own, from /sys/bus/event_source/devices.
#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "record/perf_ring.h"
#include "trace/recording.h"

namespace deadheat::record {

// What is missing here, by name.
[[nodiscard]] std::optional<std::string> missing_for_intel();

// Retired loads and retired stores, with the registers at the interrupt. The first
// period is random, so that threads which do the same are not sampled at the same places.
[[nodiscard]] std::vector<perf_event_attr> memory_events(std::uint64_t period, std::uint64_t registers);

// How its time stamps are to be read.
[[nodiscard]] TraceTiming processor_trace_timing();

// kIo: refused, or no memory for it.
[[nodiscard]] Result<PerfRing> open_processor_trace(int processor, const std::string& program);

}  // namespace deadheat::record
