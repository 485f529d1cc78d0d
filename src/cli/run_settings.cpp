// SPDX-License-Identifier: Apache-2.0
#include "cli/run_settings.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <utility>

#include "runtime/raw_report.h"

namespace deadheat {

namespace {

std::string environment_value(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string{} : std::string(value);
}

bool is_separator(char character) {
  return character == ':' || character == ' ' || character == '\t' || character == '\n' || character == ',';
}

// Takes one "name=value" off the front.
std::pair<std::string_view, std::string_view> take_setting(std::string_view& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) {
    text = {};
    return {};
  }
  const std::string_view name = text.substr(0, equals);
  text.remove_prefix(equals + 1);
  std::size_t end = 0;
  std::string_view value;
  if (!text.empty() && (text.front() == '"' || text.front() == '\'')) {
    const std::size_t quote = text.find(text.front(), 1);
    value = text.substr(1, quote == std::string_view::npos ? quote : quote - 1);
    end = quote == std::string_view::npos ? text.size() : quote + 1;
  } else {
    while (end < text.size() && !is_separator(text[end])) ++end;
    value = text.substr(0, end);
  }
  text.remove_prefix(end);
  return {name, value};
}

bool is_true(std::string_view value) { return value == "1" || value == "true" || value == "yes"; }

}  // namespace

std::optional<std::string> setting_of(std::string_view settings, std::string_view name) {
  std::optional<std::string> found;
  while (true) {
    while (!settings.empty() && is_separator(settings.front())) settings.remove_prefix(1);
    if (settings.empty()) return found;
    const auto [known, value] = take_setting(settings);
    if (known == name) found = std::string(value);
  }
}

Status add_environment(RunSettings& settings) {
  for (const char* variable : {raw_report::kOptionsVariable, "TSAN_OPTIONS"}) {
    const std::string text = environment_value(variable);
    if (const auto code = setting_of(text, "exitcode"); code && !settings.exit_code) {
      int number = 0;
      const auto [end, error] = std::from_chars(code->data(), code->data() + code->size(), number);
      if (error != std::errc{} || end != code->data() + code->size() || number < 0 || number > 255) {
        return Error{ErrorCode::kInvalid,
                     fmt::format("exitcode={} in {} is not a number from 0 to 255", *code, variable)};
      }
      settings.exit_code = number;
    }
    if (const auto halt = setting_of(text, "halt_on_error")) settings.halt_on_error |= is_true(*halt);
    if (const auto path = setting_of(text, "suppressions"); path && !path->empty()) {
      settings.suppressions.push_back(*path);
    }
  }
  return {};
}

std::string runtime_options(const RunSettings& settings) {
  std::string options = environment_value(raw_report::kOptionsVariable);
  const auto add = [&](std::string_view name, std::uint64_t value) {
    options += fmt::format("{}{}={}", options.empty() ? "" : ":", name, value);
  };
  add("exitcode", 0);
  // The runtime halts at once, but it cannot know what is suppressed.
  add("halt_on_error", settings.halt_on_error && settings.suppressions.empty() ? 1 : 0);
  if (settings.memory_limit != 0) add("memory_limit", settings.memory_limit);
  if (settings.strict_atomics) add("strict_atomics", 1);
  if (settings.record) add("record", 1);
  if (settings.stats) add("stats", 1);
  return options;
}

}  // namespace deadheat
