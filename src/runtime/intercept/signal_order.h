// SPDX-License-Identifier: Apache-2.0
// Signals as order: who sends one has done all before, so it happens before the
// handler that runs for it, and before the return of whoever waits for it. The same
// holds for who sets a timer.
//
// Which signal of several senders of one number it is cannot always be told: then all
// of them count. Signals that the kernel sends by itself (faults, SIGPIPE) order nothing. A
// signal that comes from another process may bring what was given to the outside.
#pragma once

#include <signal.h>

#include "model/identity.h"

namespace deadheat::runtime {

// Before the program's handler runs.
void after_signal(int number, const siginfo_t& information, Address code);
// Somebody waited for it, and is not told where it came from if `information` is null.
void after_waited_signal(int number, const siginfo_t* information, Address code);

// Before it is sent to this process, to one thread of it, or to another process.
void before_signal(int number, Address code);
void before_signal_to_thread_id(int number, long thread, Address code);
void before_signal_to_process(long process, int number, Address code);

}  // namespace deadheat::runtime
