// SPDX-License-Identifier: Apache-2.0
// What runs that sample say about races, as arithmetic.
//
// A run that samples a share p of its work finds a race that occurs in it once with
// probability p (PACER, docs/pacer.md), whatever happens in other runs. So a race that
// occurs in a share q of all runs goes unreported in n runs with probability
// (1 - p q)^n. If that is below 5% and nothing was reported, then with 95%
// confidence the race occurs in fewer runs than q:
//
//   (1 - p q)^n <= 0.05   <=>   n >= ln 0.05 / ln(1 - p q)   <=>   q >= (1 - 0.05^(1/n)) / p
//
// A race that occurs more than once in a run is found more often, so all of this is
// on the safe side.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

namespace deadheat {

inline constexpr double kConfidence = 0.95;

// From 0 to 1; 0 of nothing.
[[nodiscard]] inline double share_of(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(std::min(part, whole)) / static_cast<double>(whole);
}

// How many runs without a report bound the occurrence of a race below `occurrence`
// (1: exclude that it occurs in every run), at kConfidence. Nothing if no number of
// runs does, because nothing is sampled.
[[nodiscard]] inline std::optional<std::uint64_t> runs_to_bound(double rate, double occurrence = 1) {
  constexpr double kMostRuns = 1e18;
  const double found_per_run = std::min(rate * occurrence, 1.0);
  if (!(found_per_run > 0)) return std::nullopt;
  // log1p: 1 - p loses the digits of a small p. ln 0 is minus infinity, which gives 0 runs.
  const double runs = std::ceil(std::log(1 - kConfidence) / std::log1p(-found_per_run));
  return static_cast<std::uint64_t>(std::clamp(runs, 1.0, kMostRuns));
}

// The share of runs that a race occurs in is below this, at kConfidence, after so
// many runs without a report of it. Nothing if they do not bound it.
[[nodiscard]] inline std::optional<double> occurrence_bound(double rate, std::uint64_t runs) {
  if (!(rate > 0) || runs == 0) return std::nullopt;
  const double bound = -std::expm1(std::log(1 - kConfidence) / static_cast<double>(runs)) / rate;
  if (bound > 1) return std::nullopt;
  return bound;
}

}  // namespace deadheat
