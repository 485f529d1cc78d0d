// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>

namespace deadheat::watch {

// The handler of SIGTRAP: sampled instructions, tripped breakpoints, and what is the program's.
void on_trap(int number, siginfo_t* information, void* context);

}  // namespace deadheat::watch
