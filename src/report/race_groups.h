// SPDX-License-Identifier: Apache-2.0
// Races that belong together: the same two places in the code, on different objects. Each is
// a race of its own, counted and shown; a report says which of them one look at the code settles.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/dictionary.h"
#include "model/finding.h"

namespace deadheat {

struct NumberedRace {
  std::uint64_t number = 0;  // as the report shows it
  const Finding* finding = nullptr;
  const Dictionary* dictionary = nullptr;
};

// "race 1 also on: errors, by report_error() (race 3)". A line per group of more than one race, of the first few
// groups.
[[nodiscard]] std::vector<std::string> describe_groups(const std::vector<NumberedRace>& races);

}  // namespace deadheat
