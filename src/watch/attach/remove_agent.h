// SPDX-License-Identifier: Apache-2.0
// The departure of an agent from a process that stands still: one that has finished, or one that nobody is left to
// finish, as its thread is gone (a child of fork has a copy of its parent's agent without the thread).
#pragma once

#include <string>

#include "watch/attach/agent_region.h"
#include "watch/attach/signal_masks.h"
#include "watch/attach/target_modules.h"
#include "watch/attach/traced_process.h"

namespace deadheat::watch {

// A thread that wants SIGTRAP to be blocked and is in a function of libc that keeps its mask is waited for, or loses
// that it blocks SIGTRAP.
enum class MaskSettling { kWait, kSkip };

// Whether the agent's own thread is there.
[[nodiscard]] bool agent_works(const TracedProcess& target, const AgentPlace& place);

// It sees that within half a second.
void ask_agent_to_finish(pid_t process, const AgentPlace& place);

// For whom no functions call by: words, breakpoints, the action of SIGTRAP and masks are the program's again, and the
// region is given back. Empty if nothing is left of it; otherwise what is in the way, and it is to be tried again.
// When the agent works nothing is done.
[[nodiscard]] std::string remove_agent(TracedProcess& target, const AgentPlace& place, SignalMasks& masks,
                                       MaskSettling settling);

// Makes sure, with the help of `scratch` (memory of the process), that handlers of the signals that have it in their
// masks do not block SIGTRAP; returns which they were.
[[nodiscard]] std::uint64_t unblock_trap_in_handlers(TracedProcess& target, std::uint64_t system_call,
                                                     std::uint64_t scratch);
void block_trap_in_handlers(TracedProcess& target, std::uint64_t system_call, std::uint64_t scratch,
                            std::uint64_t signals);

}  // namespace deadheat::watch
