// SPDX-License-Identifier: Apache-2.0
#include "cli/sampling_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "cli/choice.h"
#include "cli/duration.h"
#include "cli/rate.h"
#include "runtime/raw_report.h"

namespace deadheat {

namespace {

constexpr double kShortestPeriod = 50;
constexpr double kLongestPeriod = 10e6;
constexpr double kLongestHorizon = 1e12;

// A small share does not become none.
std::uint64_t parts_per_million(double share) {
  const auto parts = static_cast<std::uint64_t>(std::llround(share * static_cast<double>(raw_report::kWholeRate)));
  return share > 0 ? std::max<std::uint64_t>(parts, 1) : 0;
}

}  // namespace

std::optional<std::uint64_t> parse_period(std::string_view text) {
  const auto period = parse_duration(text);
  if (!period || *period < kShortestPeriod || *period > kLongestPeriod) return std::nullopt;
  return static_cast<std::uint64_t>(std::llround(*period));
}

std::optional<std::int64_t> parse_horizon(std::string_view text) {
  if (text == "forever") return -1;
  const auto horizon = parse_duration(text);
  if (!horizon || *horizon < 0 || *horizon > kLongestHorizon) return std::nullopt;
  return std::llround(*horizon);
}

const Choices<std::optional<Sampler>>& sampler_choices() {
  static const Choices<std::optional<Sampler>> choices = {
      {"none", Sampler::kNone}, {"pacer", Sampler::kPacer}, {"cold", Sampler::kCold}};
  return choices;
}

void add_rate_and_budget(CLI::App& command, SamplingOptions& target) {
  add_share_option(
      command, "--rate", [&target](double share) { target.rate = parts_per_million(share); },
      "Sample this share of the work, as 3% or 0.03");
  add_share_option(
      command, "--budget", [&target](double share) { target.budget = parts_per_million(share); },
      "Let sampling take this share of the processor time, as 5%: the rate follows, and is never above --rate");
}

void add_sampling_options(CLI::App& command, SamplingOptions& target) {
  add_choice<std::optional<Sampler>>(
      command, "--sampler", target.sampler, sampler_choices(),
      "pacer: periods, as --rate or --budget says; cold: code that rarely runs; none: everything is checked (default)");
  add_rate_and_budget(command, target);
  const auto check = [](const std::string& text) {
    if (parse_period(text)) return std::string();
    return fmt::format("'{}' is no period: write 500us, 1ms or 2s, from 50us to 10s", text);
  };
  command
      .add_option_function<std::string>(
          "--period", [&target](const std::string& text) { target.period_us = parse_period(text); },
          "Work of one sampling period, as 500us or 2s (default 1ms)")
      ->check(CLI::Validator(check, ""))
      ->option_text("TIME");
  const auto check_horizon = [](const std::string& text) {
    if (parse_horizon(text)) return std::string();
    return fmt::format("'{}' is no horizon: write 10ms, 2s or forever", text);
  };
  command
      .add_option_function<std::string>(
          "--horizon", [&target](const std::string& text) { target.horizon_us = parse_horizon(text); },
          "Drop records after so much further work, as 10ms (default: three periods); forever: keep them all")
      ->check(CLI::Validator(check_horizon, ""))
      ->option_text("TIME");
  // What options.def can hold; 0 is another seed in every run.
  constexpr auto kLargestSeed = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  command.add_option("--seed", target.seed, "Sample the periods of an earlier run, which said its seed")
      ->check(CLI::Range(std::uint64_t{1}, kLargestSeed))
      ->option_text("NUMBER");
}

}  // namespace deadheat
