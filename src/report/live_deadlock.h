// SPDX-License-Identifier: Apache-2.0
// LiveDeadlock: the cycle of threads that ended a scheduled run, with names.
//
//   thread 2 waits for audit_lock (0x55d0c0ffee00), which thread 3 holds
//            transfer  bank.cpp:31
//            main      bank.cpp:75
#pragma once

#include <string>
#include <vector>

#include "model/dictionary.h"
#include "report/live_finding.h"
#include "report/text_layout.h"
#include "schedule/run_file.h"

namespace deadheat {

struct DeadlockedWaiter {
  ThreadId thread{};
  Address lock = 0;
  std::string lock_name;  // of a global; may be empty
  SiteStack stack;        // innermost first; may be empty
};

struct LiveDeadlock {
  Dictionary dictionary;
  std::vector<DeadlockedWaiter> cycle;  // each holds what the one before it waits for
  // The same in every run in which threads came the same ways to wait for each other.
  std::string fingerprint;
};

// Of a header with `deadlocked` != 0, whose numbers may be damaged. `modules` as they
// were when the program ended.
[[nodiscard]] LiveDeadlock make_live_deadlock(const schedule::RunFileHeader& header, const ModuleMap& modules,
                                              Symbolizer& symbolizer);

// All lines of the cycle.
[[nodiscard]] std::string format_deadlock(const LiveDeadlock& deadlock, ColourMode colour);

}  // namespace deadheat
