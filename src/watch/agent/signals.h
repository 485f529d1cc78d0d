// SPDX-License-Identifier: Apache-2.0
// SIGTRAP is ours, and the program does not notice: what it asks for SIGTRAP is kept here and
// played for traps that are not ours. In the kernel the signal is never blocked while code
// that may be patched runs: an int3 would end the process. (What the agent itself
// and libc run with all signals blocked is not patched.)
//
// Not seen: masks that are set by bare system calls, or put into a ucontext_t by hand. A handler
// of another signal whose mask has SIGTRAP may be interrupted by one. A SIGTRAP that was sent
// while it seemed to be blocked is kept for the thread that it came to, without its siginfo.
#pragma once

#include <ucontext.h>

#include <csignal>

#include "watch/attach_block.h"

namespace deadheat::watch {

using TrapHandler = void(int number, siginfo_t* information, void* context);

// Installs the handler; keeps what the program (or who started it) had asked for. False if
// that is not possible.
[[nodiscard]] bool take_over_trap(TrapHandler* handler);
// The settings of signals that the kernel is to have when the agent goes; kept up to date.
extern AttachSignals signals_at_end;
// In a child that has nothing of the agent left: SIGTRAP is the program's again.
void give_trap_back();

// What the calling thread believes; a new thread inherits it.
[[nodiscard]] bool trap_seems_blocked();
// Returns whether it was blocked in the kernel, as the attributes of a new thread can demand.
bool unblock_trap();

// In our handler: the trap is not ours.
void give_trap_to_program(siginfo_t* information, ucontext_t* context);

// Children that do not share our memory call it.
void note_own_process();
// Whether the calling process is the one whose memory this is, not a child of vfork in it.
[[nodiscard]] bool is_own_process();

}  // namespace deadheat::watch
