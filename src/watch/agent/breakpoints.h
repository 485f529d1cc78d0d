// SPDX-License-Identifier: Apache-2.0
// Data breakpoints by perf events. An event belongs to one thread for life and is opened
// disabled ("parked"); watching changes its address and enables it, from any thread.
// Whoever touches the memory gets SIGTRAP at once, with `data` in its siginfo.
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

// Our descriptors go where programs do not expect those of others: the upper half of what is
// allowed. The lower half is always left to the program.
[[nodiscard]] long first_own_descriptor();

// A parked event of that thread of this process: a descriptor, or -errno. EACCES, EPERM, ENOSYS: not
// allowed here; ENOSPC: all four breakpoints are taken; EMFILE.
[[nodiscard]] int open_breakpoint(std::uint32_t thread);
void close_breakpoint(int event);

// An event that traps that thread each time it has run so long: the second sampler. Time decides what it meets, where
// int3 prefers what is rare. As open_breakpoint(); it runs from the beginning.
[[nodiscard]] int open_clock(std::uint32_t thread, std::uint64_t period_ns, std::uint64_t data);

// False when the event is gone with its thread.
bool set_breakpoint(int event, Address address, std::uint32_t size, Watched watched, std::uint64_t data);
void disable_breakpoint(int event);

}  // namespace deadheat::watch
