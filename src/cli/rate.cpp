// SPDX-License-Identifier: Apache-2.0
#include "cli/rate.h"

#include <fmt/format.h>

#include <charconv>

namespace deadheat {

std::optional<double> parse_rate(std::string_view text) {
  double scale = 1;
  if (text.ends_with('%')) {
    scale = 100;
    text.remove_suffix(1);
  }
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  // Also false for what is not a number at all.
  if (!(number >= 0 && number <= scale)) return std::nullopt;
  return number / scale;
}

CLI::Option* add_rate_option(CLI::App& command, std::optional<double>& target, const std::string& help) {
  const auto check = [](const std::string& text) {
    if (parse_rate(text)) return std::string();
    return fmt::format("'{}' is no rate: write 3% or 0.03, from 0 to 1", text);
  };
  return command
      .add_option_function<std::string>(
          "--rate", [&target](const std::string& text) { target = parse_rate(text); }, help)
      ->check(CLI::Validator(check, ""))
      ->option_text("RATE");
}

}  // namespace deadheat
