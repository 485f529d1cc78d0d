// SPDX-License-Identifier: Apache-2.0
// What comes before a program is started: is it there, can it report to us, and
// which environment makes the loader take our libraries. The same for `run` and
// `hunt`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/exit_codes.h"
#include "cli/run_child.h"
#include "cli/run_settings.h"

namespace deadheat {

// For statuses that are numbers of others: a program's own, a shell's.
[[nodiscard]] constexpr ExitCode exit_code(int number) { return static_cast<ExitCode>(number); }

// Says the error; the code is for the caller to return.
ExitCode failed(const Error& error, ExitCode code);

// What to do with a program that was not built for race detection.
enum class Uninstrumented : std::uint8_t { kRefuse, kRun };

// `words`: the program and its arguments, not empty. Nothing, with the reason said and
// its exit code in `result`, when the program cannot be run.
[[nodiscard]] std::optional<ChildRequest> make_launch_plan(const std::vector<std::string>& words,
                                                           const RunSettings& settings, Uninstrumented uninstrumented,
                                                           ExitCode& result);

// The entry of the environment that tells the runtime its options.
[[nodiscard]] std::string options_setting(std::string_view options);

// The entry of the environment that preloads an agent. Libraries of the user's own stay.
[[nodiscard]] std::string preload_setting(const std::string& agent);

// The entry that tells an agent how many filters of system calls we have ourselves (base/inherited_filters.h).
[[nodiscard]] std::string filters_setting();

// From now on our debug information comes from this machine. The program keeps the
// environment that it would have had.
void symbolise_locally(ChildRequest& program);

}  // namespace deadheat
