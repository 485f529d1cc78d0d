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

// Nothing for what is no number, or not in the range.
std::optional<std::int64_t> number_in(std::string_view text, std::int64_t lowest, std::int64_t highest) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  if (number < lowest || number > highest) return std::nullopt;
  return number;
}

// A share that the command line left open. What options.def says for "none" stays open.
Status add_share(std::string_view text, std::string_view name, std::int64_t none,
                 std::optional<std::uint64_t>& target) {
  const auto value = setting_of(text, name);
  if (!value || target) return {};
  const auto number = number_in(*value, none, raw_report::kWholeRate);
  if (!number) {
    return Error{ErrorCode::kInvalid,
                 fmt::format("{}={} in {} is not a number of parts per million, from 0 to {}; '--{} 3%' is", name,
                             *value, raw_report::kOptionsVariable, raw_report::kWholeRate, name)};
  }
  if (*number != none) target = static_cast<std::uint64_t>(*number);
  return {};
}

// The sampler, likewise.
Status add_sampler(std::string_view text, std::optional<Sampler>& target) {
  const auto value = setting_of(text, "sampler");
  if (!value || target) return {};
  for (const auto& [word, sampler] : sampler_choices()) {
    if (word == *value) target = sampler;
  }
  if (target) return {};
  return Error{ErrorCode::kInvalid,
               fmt::format("sampler={} in {} is none of none, pacer and cold", *value, raw_report::kOptionsVariable)};
}

// Whether the sampler goes with the rest.
Status check_sampler(const RunSettings& settings) {
  const SamplingOptions& sampling = settings.sampling;
  const auto invalid = [](std::string message) { return Error{ErrorCode::kInvalid, std::move(message)}; };
  if (sampling.sampler == Sampler::kPacer && !sampling.is_on()) {
    return invalid("--sampler pacer needs --rate or --budget; see 'deadheat run --help'");
  }
  if (sampling.sampler == Sampler::kNone && sampling.is_on()) {
    return invalid(
        fmt::format("--sampler none checks everything and cannot go with --rate or --budget, or either in {}",
                    raw_report::kOptionsVariable));
  }
  if (sampling.sampler != Sampler::kCold) return {};
  if (sampling.is_on()) {
    return invalid(fmt::format("--sampler cold has no rate and cannot go with --rate or --budget, or either in {}",
                               raw_report::kOptionsVariable));
  }
  if (settings.record) return invalid("--record keeps every event and cannot go with --sampler cold");
  return {};
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
  std::optional<bool> is_off;
  for (const char* variable : {raw_report::kOptionsVariable, "TSAN_OPTIONS"}) {
    const std::string text = environment_value(variable);
    if (const auto code = setting_of(text, "exitcode"); code && !settings.exit_code) {
      const auto number = number_in(*code, 0, 255);
      if (!number) {
        return Error{ErrorCode::kInvalid,
                     fmt::format("exitcode={} in {} is not a number from 0 to 255", *code, variable)};
      }
      settings.exit_code = static_cast<int>(*number);
    }
    if (const auto halt = setting_of(text, "halt_on_error")) settings.halt_on_error |= is_true(*halt);
    if (const auto path = setting_of(text, "log_path"); path && !path->empty() && !settings.log_path) {
      settings.log_path = *path;
    }
    // Where both variables set this, the first one here counts, as in the runtime.
    if (const auto reports = setting_of(text, "report_bugs"); reports && !is_off) is_off = !is_true(*reports);
    if (const auto path = setting_of(text, "suppressions"); path && !path->empty()) {
      settings.suppressions.push_back(*path);
    }
  }
  settings.is_off = is_off.value_or(false);
  const std::string text = environment_value(raw_report::kOptionsVariable);
  if (Status status = add_sampler(text, settings.sampling.sampler); !status.ok()) return status;
  if (Status status = add_share(text, "rate", -1, settings.sampling.rate); !status.ok()) return status;
  return add_share(text, "budget", 0, settings.sampling.budget);
}

Status check_settings(const RunSettings& settings) {
  const SamplingOptions& sampling = settings.sampling;
  const auto invalid = [](std::string message) { return Error{ErrorCode::kInvalid, std::move(message)}; };
  if (sampling.budget == 0) return invalid("a budget of 0 leaves no time to sample; see 'deadheat run --help'");
  if (Status status = check_sampler(settings); !status.ok()) return status;
  if (!sampling.is_on() && (sampling.seed || sampling.period_us || sampling.horizon_us)) {
    const char* const name = sampling.seed ? "--seed" : sampling.period_us ? "--period" : "--horizon";
    return invalid(fmt::format("{} needs --rate or --budget; see 'deadheat run --help'", name));
  }
  if (sampling.is_on() && settings.record) {
    return invalid(
        fmt::format("--record keeps every event and cannot go with sampling (--rate, --budget, or either in {})",
                    raw_report::kOptionsVariable));
  }
  return {};
}

std::string runtime_options(const RunSettings& settings) {
  std::string options = environment_value(raw_report::kOptionsVariable);
  const auto add = [&](std::string_view name, auto value) {
    options += fmt::format("{}{}={}", options.empty() ? "" : ":", name, value);
  };
  add("exitcode", 0);
  // The runtime halts at once, but it cannot know what is suppressed.
  add("halt_on_error", settings.halt_on_error && settings.suppressions.empty() ? 1 : 0);
  if (settings.memory_limit != 0) add("memory_limit", settings.memory_limit);
  if (settings.strict_atomics) add("strict_atomics", 1);
  const SamplingOptions& sampling = settings.sampling;
  for (const auto& [word, sampler] : sampler_choices()) {
    if (sampling.sampler && sampling.sampler == sampler) add("sampler", word);
  }
  if (sampling.rate) add("rate", *sampling.rate);
  if (sampling.budget) add("budget", *sampling.budget);
  if (sampling.period_us) add("period_us", *sampling.period_us);
  if (sampling.horizon_us) add("horizon_us", *sampling.horizon_us);
  if (sampling.seed) add("seed", *sampling.seed);
  if (settings.record) add("record", 1);
  if (settings.stats) add("stats", 1);
  return options;
}

}  // namespace deadheat
