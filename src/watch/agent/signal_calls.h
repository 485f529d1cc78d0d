// SPDX-License-Identifier: Apache-2.0
// Between signals.cpp, which keeps what the program believes of SIGTRAP, and signal_calls.cpp,
// which has the functions by which it asks.
#pragma once

#include <atomic>
#include <csignal>

#include "watch/agent/threads.h"

namespace deadheat::watch {

// Of the calling thread; somebody's that nobody reads if it has no record.
TrapView& trap_view();
// Until then all functions pass through.
extern std::atomic<bool> trap_is_ours;

// As sigaction(SIGTRAP, ...) for the program.
int exchange_trap_action(const struct sigaction* wanted, struct sigaction* old);
void set_trap_seems_blocked(bool seems_blocked);
void raise_if_pending();

// libc's sigaction.
int call_real_sigaction(int number, const struct sigaction* wanted, struct sigaction* old);

}  // namespace deadheat::watch
