// SPDX-License-Identifier: Apache-2.0
// `deadheat races diff` and `merge`: races of runs, reports and stores, side by side.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "report/text_layout.h"
#include "store/store.h"

namespace deadheat {

using RacesByFingerprint = std::map<std::string, Sighting>;

struct RaceDifference {
  std::vector<Sighting> added;
  std::vector<Sighting> gone;
  std::vector<Sighting> common;
};

// Of a JSON report or another store (a file or a URL), or else of a run of this store. Errors: kIo,
// kMalformed; kInvalid when there is no such run.
[[nodiscard]] Result<RacesByFingerprint> races_of(const std::string& name, Store& store);

[[nodiscard]] RaceDifference compare_races(const RacesByFingerprint& before, const RacesByFingerprint& after);
[[nodiscard]] std::string format_difference(const RaceDifference& difference, ColourMode colour);
[[nodiscard]] std::string format_difference_json(const RaceDifference& difference);

// All of a store (a file or a URL) or an export. Errors: kIo, kMalformed; those of Store.
[[nodiscard]] Result<StoreContent> content_of_place(const std::string& place);

}  // namespace deadheat
