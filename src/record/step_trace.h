// SPDX-License-Identifier: Apache-2.0
// StepTrace: every step of a run in memory, and recordings made of it as if it had been sampled.
//
// Ground truth: what replay rebuilds from a recording that was made of a StepTrace can be
// compared with what happened.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "record/stepper.h"
#include "trace/recording.h"

namespace deadheat::record {

struct ThreadSteps {
  pid_t system_id = 0;
  std::vector<RegisterFile> steps;   // before each instruction
  std::vector<std::size_t> gaps;     // indices of steps that do not follow the one before
  std::vector<std::uint64_t> order;  // of each step among those of all threads
};

struct StepTrace {
  std::vector<CodeMapping> mappings;
  std::vector<ThreadSteps> threads;

  [[nodiscard]] std::uint64_t total() const;
};

struct StepTraceOptions {
  StepCommand command;
  std::vector<std::string> functions;  // names in the program's symbol table; none: everything
  std::uint64_t limit = 0;             // of steps; then the program is killed. 0: none
};

// kIo: it cannot be stepped. kInvalid: the program has no such function.
[[nodiscard]] Result<StepTrace> trace_steps(const StepTraceOptions& options);

// One sample per `period` instructions of the thread, the first after `phase`; the path is known, or not.
enum class Path : bool { kUnknown, kKnown };
[[nodiscard]] RecordedThread sampled(const ThreadSteps& thread, std::uint64_t period, std::uint64_t phase, Path path);

}  // namespace deadheat::record
