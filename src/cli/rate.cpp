// SPDX-License-Identifier: Apache-2.0
#include "cli/rate.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>

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

CLI::Option* add_share_option(CLI::App& command, const std::string& name, std::function<void(double)> store,
                              const std::string& help) {
  const std::string noun = name.substr(name.find_first_not_of('-'));
  const auto check = [noun](const std::string& text) {
    if (parse_rate(text)) return std::string();
    return fmt::format("'{}' is no {}: write 3% or 0.03, from 0 to 1", text, noun);
  };
  return command
      .add_option_function<std::string>(
          name, [store = std::move(store)](const std::string& text) { store(*parse_rate(text)); }, help)
      ->check(CLI::Validator(check, ""))
      ->option_text("SHARE");
}

}  // namespace deadheat
