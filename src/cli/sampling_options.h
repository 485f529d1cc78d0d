// SPDX-License-Identifier: Apache-2.0
// What the runtime of a program is asked for that is to sample: by `run` when it
// starts, by `tune` while it runs.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string_view>

#include "cli/choices.h"

namespace deadheat {

// Which accesses a program that samples looks at.
enum class Sampler : std::uint8_t {
  kNone,   // all of them
  kPacer,  // those in periods, as rate and budget say
  kCold,   // those in calls of functions that rarely run
};

// The words for them, on the command line and in DEADHEAT_OPTIONS.
[[nodiscard]] const Choices<std::optional<Sampler>>& sampler_choices();

// Shares are in parts per million, as the runtime takes them.
struct SamplingOptions {
  std::optional<Sampler> sampler;
  std::optional<std::uint64_t> rate;
  std::optional<std::uint64_t> budget;
  std::optional<std::uint64_t> period_us;
  std::optional<std::int64_t> horizon_us;  // -1: for ever
  std::optional<std::uint64_t> seed;

  // Periods are sampled.
  [[nodiscard]] bool is_on() const { return rate.has_value() || budget.has_value(); }
};

// "500us", "1.5ms", "2s", in microseconds. Nothing for what is no time, or no sensible
// period: from 50 us to 10 s.
[[nodiscard]] std::optional<std::uint64_t> parse_period(std::string_view text);

// The same for a horizon, which can be any time, and "forever": -1.
[[nodiscard]] std::optional<std::int64_t> parse_horizon(std::string_view text);

// --rate and --budget. The target must outlive the parsing; a bad value is a usage error.
void add_rate_and_budget(CLI::App& command, SamplingOptions& target);

// These and --sampler, --period, --horizon and --seed.
void add_sampling_options(CLI::App& command, SamplingOptions& target);

}  // namespace deadheat
