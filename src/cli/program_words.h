// SPDX-License-Identifier: Apache-2.0
// The program and its arguments at the end of a command line, with or without a "--"
// in front: deadheat run [OPTIONS] [--] PROGRAM [ARGUMENTS...].
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "base/result.h"

namespace deadheat {

// Of a command that was declared with prefix_command(). Errors: kInvalid (no program,
// or an unknown option where it should be).
[[nodiscard]] Result<std::vector<std::string>> program_words(const CLI::App& command);

}  // namespace deadheat
