// SPDX-License-Identifier: Apache-2.0
// RecordSession: one run of a program that is recorded, from its start to its end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/exit_codes.h"
#include "record/sampler.h"
#include "trace/recording_file.h"

namespace deadheat {

struct RecordPlan {
  std::string path;                // of the program's file
  std::vector<std::string> words;  // with its name in front
  std::string agent;               // the library to preload
  std::string directory;           // absolute
  record::Backend backend = record::Backend::kClock;
  std::uint64_t period = 0;
  std::uint32_t stack_bytes = 256;
  record::Timers timers = record::Timers::kAuto;
  std::uint64_t log_limit = 0;         // bytes
  std::optional<double> duration_us;   // recording ends then; the program goes on
  std::vector<std::string> functions;  // step: only these, with all that they call
  bool has_held_locks = false;         // every lock is logged, not only what is handed on
  bool is_quiet = false;
};

// As the user names it.
[[nodiscard]] std::string name_of(record::Backend backend);

// What the agent is told.
[[nodiscard]] std::vector<std::string> agent_settings(const RecordPlan& plan);

// Runs the program and fills the recording. Says what it did, and what went wrong.
[[nodiscard]] ExitCode record_by_samples(const RecordPlan& plan, RecordingWriter& writer);
[[nodiscard]] ExitCode record_by_steps(const RecordPlan& plan, RecordingWriter& writer);

// After either: what was recorded, in one line, and what comes next.
void say_recorded(const RecordPlan& plan, double seconds, std::uint64_t samples);

}  // namespace deadheat
