// SPDX-License-Identifier: Apache-2.0
// Scenarios: small named executions with the verdict that every detector must
// reach. A file of scenarios is a sequence of blocks:
//
//   == a mutex orders its critical sections
//   options strict-atomics              (only where the verdict depends on it)
//   expect none
//   T0 fork T1
//   T0 acquire m
//   ...
//
// Lines after the `expect` lines are a text trace (src/trace/TEXT_FORMAT.md).
// Verdicts:
//   expect none                         no byte is racy
//   expect race PLACE [SIZE] [KIND]     these bytes are racy
// PLACE is an address or a declared or used name (then with +OFFSET if need
// be); SIZE may be left out for a name and then means the rest of it. KIND is
// write-write, read-write, write-read, use-free or atomic-plain, and asks for a
// finding of that kind on these bytes. Several `expect race` lines add up; the
// racy bytes must be exactly their union.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/detector.h"
#include "model/dictionary.h"
#include "model/event.h"
#include "model/finding.h"

namespace deadheat {

struct ExpectedRace {
  Address address = 0;
  std::uint64_t size = 0;
  std::optional<RaceKind> kind;
};

struct Scenario {
  std::string name;   // the words after ==
  std::string place;  // file:line of the block, for messages
  DetectorOptions options;
  std::vector<ExpectedRace> races;
  std::vector<Event> events;
  Dictionary dictionary;

  // The union of the expected races, sorted, neighbours merged.
  [[nodiscard]] std::vector<Detector::Range> expected_bytes() const;
};

// Errors: kMalformed with file name and line.
Result<std::vector<Scenario>> parse_scenarios(std::string_view text, const std::string& file);

// All *.txt of a directory, by file name. Errors: kIo, kMalformed.
Result<std::vector<Scenario>> load_scenarios(const std::string& directory);

// The name with everything but letters and digits removed and the words
// capitalised: "a mutex orders" becomes "AMutexOrders".
[[nodiscard]] std::string test_name(std::string_view words);

}  // namespace deadheat
