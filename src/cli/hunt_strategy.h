// SPDX-License-Identifier: Apache-2.0
// How the runs of a hunt are scheduled: what the user asked for, and what one run gets.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "cli/choices.h"

namespace deadheat {

struct RunRecord;

// Of one run, as the option `schedule` of the runtime calls it.
enum class RunStrategy : std::uint8_t {
  kNative,    // the system's order; the run only learns
  kDrfinder,  // reverses the order of locks that may-trigger relations predict
  kPct,       // random priorities with few changes
  kContest,   // random delays
};

// Of a hunt.
enum class HuntStrategy : std::uint8_t { kDrfinder, kPct, kContest, kNative, kPortfolio };

[[nodiscard]] const Choices<HuntStrategy>& hunt_strategy_choices();
[[nodiscard]] std::string_view word_of(HuntStrategy strategy);
[[nodiscard]] std::string_view word_of(RunStrategy strategy);

// The strategy of the next run of a hunt with that strategy, after the runs that have
// ended, in the order of their ends.
[[nodiscard]] RunStrategy next_strategy(HuntStrategy hunt, std::span<const RunRecord> history);

// The seed of a run: from 1 to a million, so that people can read it aloud.
[[nodiscard]] std::uint64_t seed_of_run(std::uint64_t hunt_seed, std::uint32_t number);

}  // namespace deadheat
