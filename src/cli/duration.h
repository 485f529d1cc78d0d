// SPDX-License-Identifier: Apache-2.0
// Times as people write them: "500us", "1.5ms", "60s", "5min", "2h".
#pragma once

#include <optional>
#include <string_view>

namespace deadheat {

// In microseconds. Nothing for what is no time, or below 0.
[[nodiscard]] std::optional<double> parse_duration(std::string_view text);

}  // namespace deadheat
