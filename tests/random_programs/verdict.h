// SPDX-License-Identifier: Apache-2.0
// The verdict of the oracle on a random program (support/oracle.h), and whether what a
// detector reported agrees with it.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "found_races.h"

namespace deadheat::random_programs {

using LinePair = std::pair<int, int>;  // the smaller line first

struct Truth {
  std::set<LinePair> pairs;
  std::vector<std::set<LinePair>> demands;
};

// Throws std::runtime_error when the oracle has not come to its end.
[[nodiscard]] Truth read_truth(const std::filesystem::path& file);

enum class Completeness { kAll, kSome };  // kSome: a sampler may leave races out

// One line for each disagreement. A report whose line is not known disagrees, too.
[[nodiscard]] std::vector<std::string> disagreements(const std::vector<programs::FoundRace>& found, const Truth& truth,
                                                     Completeness completeness);

}  // namespace deadheat::random_programs
