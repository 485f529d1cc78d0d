// SPDX-License-Identifier: Apache-2.0
// What is known of the options of g++ and clang: small helpers that
// compile_arguments.cpp and compiler_options.cpp share.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace deadheat {

// What follows the prefix, if the argument begins with it.
[[nodiscard]] std::optional<std::string_view> value_of(std::string_view argument, std::string_view prefix);

[[nodiscard]] std::vector<std::string_view> split_at(std::string_view text, char separator);

}  // namespace deadheat
