// SPDX-License-Identifier: Apache-2.0
// The whole of a file that a person names: a report, suppressions, a baseline.
#pragma once

#include <string>

#include "base/result.h"

namespace deadheat {

// "-" is the standard input, where the caller has a use for that. Errors: kIo, whose sentence is the system's
// reason alone ("No such file or directory", "Is a directory"); the caller says what it wanted to read.
[[nodiscard]] Result<std::string> file_content(const std::string& path);

}  // namespace deadheat
