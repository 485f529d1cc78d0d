// SPDX-License-Identifier: Apache-2.0
// Sampling rates as people write them: "3%" or "0.03".
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace deadheat {

// From 0 to 1; nothing for what is no number, or no rate.
[[nodiscard]] std::optional<double> parse_rate(std::string_view text);

// --rate. The target must outlive the parsing; a bad value is a usage error.
CLI::Option* add_rate_option(CLI::App& command, std::optional<double>& target, const std::string& help);

}  // namespace deadheat
