// SPDX-License-Identifier: Apache-2.0
// A hunt as text for people.
//
//   run  3/10  drfinder  seed 81  0.21 s  races 2 (1 new)  suspended 14, thrashing 3
//
// and at the end a table of the strategies, a curve of the races, and the list of them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cli/hunt_ledger.h"
#include "cli/hunt_record.h"
#include "report/text_layout.h"

namespace deadheat {

// All texts end with a newline.

// A run that has ended.
[[nodiscard]] std::string format_run_line(const RunRecord& run, std::uint32_t runs, ColourMode colour);

// A new race in full; `number` counts from 1. `again` is the command that repeats a run,
// without its number.
[[nodiscard]] std::string format_hunted_race(const HuntRace& race, std::uint64_t number, std::string_view again,
                                             ColourMode colour);

// A new crash or deadlock.
[[nodiscard]] std::string format_hunt_finding(const HuntFinding& finding, std::string_view again, ColourMode colour);

// "crash: signal 11 (Segmentation fault)", "deadlock of 2 threads".
[[nodiscard]] std::string describe_finding(const HuntFinding& finding);

// The table of the strategies.
[[nodiscard]] std::string format_strategies(const std::vector<StrategyTotals>& totals);

// Distinct races after each run. Nothing for fewer than two runs or no race.
[[nodiscard]] std::string format_curve(std::span<const RunRecord> runs);

// All of them and what else was found, then "deadheat: 2 data races in 10 runs ...".
[[nodiscard]] std::string format_hunt_summary(const HuntLedger& ledger, std::string_view again, std::uint64_t seed,
                                              ColourMode colour);

}  // namespace deadheat
