// SPDX-License-Identifier: Apache-2.0
// A path for a test's own file. Each test case is a process of its own and many
// run at once, so the process number is part of the name.
#pragma once

#include <string>
#include <string_view>

namespace deadheat {

[[nodiscard]] std::string temp_path(std::string_view name);

}  // namespace deadheat
