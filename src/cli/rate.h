// SPDX-License-Identifier: Apache-2.0
// Sampling rates and other shares as people write them: "3%" or "0.03".
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace deadheat {

// From 0 to 1; nothing for what is no number, or no rate.
[[nodiscard]] std::optional<double> parse_rate(std::string_view text);

// An option such as --rate, whose value goes to `store`. A bad value is a usage error.
CLI::Option* add_share_option(CLI::App& command, const std::string& name, std::function<void(double)> store,
                              const std::string& help);

}  // namespace deadheat
