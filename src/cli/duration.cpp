// SPDX-License-Identifier: Apache-2.0
#include "cli/duration.h"

#include <charconv>
#include <cmath>
#include <utility>

namespace deadheat {

namespace {

// Microseconds of one unit, and the text without it. Nothing for an unknown unit.
std::optional<double> take_unit(std::string_view& text) {
  constexpr std::pair<std::string_view, double> kUnits[] = {
      {"us", 1}, {"ms", 1e3}, {"s", 1e6}, {"min", 60e6}, {"h", 3600e6}};
  for (const auto& [unit, microseconds] : kUnits) {
    if (!text.ends_with(unit)) continue;
    text.remove_suffix(unit.size());
    return microseconds;
  }
  return std::nullopt;
}

}  // namespace

std::optional<double> parse_duration(std::string_view text) {
  const auto unit = take_unit(text);
  if (!unit) return std::nullopt;
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  if (!std::isfinite(number) || number < 0) return std::nullopt;
  return number * *unit;
}

}  // namespace deadheat
