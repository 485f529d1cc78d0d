// SPDX-License-Identifier: Apache-2.0
// Data breakpoints by perf events, opened for one watch in one thread, by the agent's thread in its own table of
// descriptors (control.h). Whoever touches the memory gets SIGTRAP at once, with `data` in its siginfo, and only the
// first time: the kernel disables the event then.
//
// Not kept open between watches: an event that is parked costs its thread a microsecond at each switch, one that is
// enabled two, and while one is enabled the processor copies and clears memory (`rep movs`, `rep stos`, in the
// kernel as well) byte by byte: see docs/decisions/0015-watching-cost.md.
#pragma once

#include <cstdint>

#include "model/identity.h"

namespace deadheat::watch {

inline constexpr std::uint32_t kMostSlots = 4;  // of the processor

// A breakpoint reports loads as well as stores, or stores only: x86 has none for loads.
enum class Watched : std::uint8_t { kStores, kLoadsAndStores };

// The part of an access that one breakpoint can watch: 1, 2, 4 or 8 bytes from its start,
// aligned.
[[nodiscard]] std::uint32_t watchable_size(Address address, std::uint32_t size);

// Whether this process may have them: 0, or -errno. EACCES, EPERM, ENOSYS: not allowed here; ENOSPC: all four
// breakpoints are taken; EMFILE.
[[nodiscard]] int check_breakpoints();

// In that thread of this process: a descriptor, or -errno as above, or -ESRCH.
[[nodiscard]] int open_breakpoint(std::uint32_t thread, Address address, std::uint32_t size, Watched watched,
                                  std::uint64_t data);
// Traps that thread once, when it has run so long: the second sampler. Time decides what it meets, where int3 prefers
// what is rare.
[[nodiscard]] int open_clock(std::uint32_t thread, std::uint64_t time_ns, std::uint64_t data);
void close_event(int event);

// How many nanoseconds more the processor takes to clear a page of memory while a breakpoint is enabled.
[[nodiscard]] std::uint64_t measure_slow_page();

}  // namespace deadheat::watch
