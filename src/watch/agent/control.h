// SPDX-License-Identifier: Apache-2.0
// The agent's own thread: arms sites while there is a free slot and something left to spend,
// takes them back otherwise, gives breakpoints back when their time is over, tells how it goes.
//
// libc does not know the thread: a process ends with the last thread that libc knows, and
// that must not depend on us. It has no storage of its own for thread-local variables and must not use any. It has a
// table of descriptors of its own: what it opens is neither seen nor closed nor inherited by the program's threads.
#pragma once

#include <cstdint>

#include "watch/agent/settings.h"
#include "watch/attach_block.h"

namespace deadheat::watch {

// `begun_ns`: when the start began, for the greeting, which the thread sends when it has seen that there are
// breakpoints to be had; otherwise it says so, and watching is over. False if there is no thread to be had.
[[nodiscard]] bool start_control(const Settings& settings, std::uint64_t begun_ns);

// In a process that was running already.
void note_attached(AttachBlock& block);
// There the calling thread, which libc does not know, becomes the agent's: returns when watching is over.
void control_here(const Settings& settings);

// Something has changed. Any thread, also in the handler.
void wake_control();

// Restores all sites and closes all breakpoints; nothing is sampled afterwards. With a last
// progress and farewell, after `reason` if there is one. Any thread of the program; returns when it is done, or after
// some seconds.
void finish_watching(const char* reason = nullptr);

// A running process loads code whose calls will not come to us: no instruction is patched any more, as that code can
// block SIGTRAP. Returns when none is. Nothing where we were from the beginning.
void end_patching();

// In the handler: the event of the second sampler has trapped.
void note_clock_trap();

// Around fork(): nothing is armed meanwhile. The child forgets the agent.
void prepare_control_for_fork();
void release_control_after_fork();
void forget_control_in_child();

[[nodiscard]] bool is_watching();
// Threads that begin are to have records, which keep what they want of SIGTRAP: also when watching is over.
[[nodiscard]] bool keeps_threads();
// The program is about to confine its calls of the system.
void note_confined();

}  // namespace deadheat::watch
