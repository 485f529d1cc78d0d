// SPDX-License-Identifier: Apache-2.0
// What a detector said about a run, brought to one form, and whether that is
// what the program's comments ask for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "test_program.h"

namespace deadheat::programs {

// The place of an access is the innermost frame that lies in the program's own
// files: an access inside the C or C++ library belongs to the line that calls it.
struct FoundRace {
  std::optional<SourceLine> earlier;
  std::optional<SourceLine> later;

  [[nodiscard]] std::string text() const;
};

// From the JSON report of `deadheat run`. Throws std::runtime_error when it is
// not one.
[[nodiscard]] std::vector<FoundRace> races_in_json(const std::string& json, const TestProgram& program);

// From the text that the compilers' own runtimes print. Reports that are not
// about races (deadlocks, leaked threads) are left out.
[[nodiscard]] std::vector<FoundRace> races_in_tsan_text(const std::string& text, const TestProgram& program);

// What is wrong with what was found, one line each; empty: as expected.
[[nodiscard]] std::vector<std::string> differences(const std::vector<FoundRace>& found, const TestProgram& program);

}  // namespace deadheat::programs
