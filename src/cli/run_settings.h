// SPDX-License-Identifier: Apache-2.0
// The settings of a run: what the user said on the command line and in the
// environment, and what of it the runtime inside the program is told.
//
// The runtime reads DEADHEAT_OPTIONS (options.def). What the user has there stays
// in front; what `deadheat run` adds comes after it and wins. Some settings are
// for us, not for the runtime: only we can match suppressions, so only we know
// whether there are races that count, which status to exit with, and whether to
// end the program at a race.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/sampling_options.h"

namespace deadheat {

struct RunSettings {
  std::optional<int> exit_code;  // for races; 0 keeps the program's own status
  bool halt_on_error = false;
  std::vector<std::string> suppressions;  // files
  std::optional<std::string> log_path;    // of the environment: PATH.PID gets the text
  std::uint64_t memory_limit = 0;         // 0: none
  bool strict_atomics = false;
  bool record = false;
  bool stats = false;
  bool is_off = false;  // report_bugs=0: nothing is to be checked
  SamplingOptions sampling;
};

inline constexpr int kDefaultRaceExitCode = 66;

// The value of the last "name=value" in a text like "a=1:b='x y' c=2".
[[nodiscard]] std::optional<std::string> setting_of(std::string_view settings, std::string_view name);

// Fills in what the command line left open from DEADHEAT_OPTIONS and, for the
// names that mean the same there, TSAN_OPTIONS. Errors: kInvalid.
Status add_environment(RunSettings& settings);

// After add_environment(): whether the settings go together. Errors: kInvalid.
Status check_settings(const RunSettings& settings);

// The value of DEADHEAT_OPTIONS for the program.
[[nodiscard]] std::string runtime_options(const RunSettings& settings);

}  // namespace deadheat
