// SPDX-License-Identifier: Apache-2.0
// Contexts as fibers; see contexts.cpp.
#pragma once

#include <atomic>

namespace deadheat::runtime {

// The program announces its fibers through the fiber functions of TSan's
// interface. Then swapcontext and its relatives change no fiber any more.
extern std::atomic<bool> program_switches_fibers;

// Around fork: nobody else may be changing the tables. Inside a RuntimeScope.
void lock_contexts();
void unlock_contexts();

}  // namespace deadheat::runtime
