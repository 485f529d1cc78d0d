// SPDX-License-Identifier: Apache-2.0
// Processes that may hand on order: children, and the parent of a process that was
// forked from an observed one.
//
// A pipe, a semaphore or a file lock is shared with them as soon as there are any,
// so what is given to one of those is given to the outside (kernel_order.h) as well,
// and what is taken is taken from it. While there are none, nothing is given to the
// outside, so a program that starts a child at times is checked as exactly as any
// other in between. Whatever a child left behind is still there to be taken: taking asks
// only whether there ever was one.
//
// Limits: what unrelated processes hand on is not known, nor what remote ends of
// network connections do. A child of a child that outlives it counts as gone.
#pragma once

#include <atomic>
#include <cstdint>

#include "model/identity.h"

namespace deadheat::runtime {

// Relatives that may live; never fewer than there are.
extern constinit std::atomic<std::uint32_t> living_relatives;
// Processes that were started, also before the fork that made this one.
extern constinit std::atomic<std::uint32_t> started_relatives;

[[nodiscard]] bool look_for_relatives();  // some live, as far as is known
[[nodiscard]] inline bool has_relatives() {
  return living_relatives.load(std::memory_order_relaxed) != 0 && look_for_relatives();
}
[[nodiscard]] inline bool had_relatives() { return started_relatives.load(std::memory_order_relaxed) != 0; }

// Before a child is started: it gets all that its parent did.
void before_child(Address code);
// It was not started after all, or it has ended.
void after_child();
// In the child of a fork.
void become_child();

// Before something that relatives share changes, and after it was seen to have changed.
void give_to_relatives(Address code);
void take_from_relatives(Address code);

// The same for what leads to other processes of any kind.
void give_to_outside(Address code);
void take_from_outside(Address code);

// The same for an object that lies in memory, if other processes see that memory. Locks
// ask it each time.
void give_if_shared(Address object, Address code);
void take_if_shared(Address object, Address code);
inline void give_to_sharers(Address object, Address code) {
  if (living_relatives.load(std::memory_order_relaxed) != 0) [[unlikely]]
    give_if_shared(object, code);
}
inline void take_from_sharers(Address object, Address code) {
  if (had_relatives()) [[unlikely]]
    take_if_shared(object, code);
}
// A mapping that other processes may see, and its end.
void note_shared_memory(Address begin, std::uint64_t size);
void forget_shared_memory(Address begin, std::uint64_t size);

// After a call of the wait family.
void after_wait(long process, int status, int flags, Address code);

}  // namespace deadheat::runtime
