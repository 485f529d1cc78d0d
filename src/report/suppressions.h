// SPDX-License-Identifier: Apache-2.0
// Suppressions: races that the user does not want to hear of, in the syntax of
// TSan's suppression files, so that an existing file works unchanged.
//
//   # comment
//   race:SomeFunction            function, file or module of any frame of either
//                                stack, or the name of the variable
//   race_top:^main$              the innermost frame of either side only
//   called_from_lib:libfoo.so    the module of any frame of either stack
//   thread: mutex: signal: deadlock:   other kinds of reports that TSan has and we
//                                do not: accepted, match nothing
//
// A pattern matches anywhere in the text; '^' at its start and '$' at its end
// tie it to the ends; '*' stands for any characters. Case counts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "report/live_finding.h"

namespace deadheat {

enum class SuppressionKind : std::uint8_t { kRace, kRaceTop, kCalledFromLibrary, kOther };

struct Suppression {
  SuppressionKind kind = SuppressionKind::kRace;
  std::string line;  // as written: "race:SomeFunction"
  std::string pattern;
  std::uint64_t matches = 0;  // distinct races that it hid
};

class Suppressions {
 public:
  // Adds the lines of a file's text; `name` is the file's, for messages. Errors:
  // kMalformed, "name:3: ...", after which nothing of this text was added.
  Status add(std::string_view text, const std::string& name);
  // Errors: kIo, kMalformed.
  Status add_file(const std::string& path);

  // The first that hides the finding, for the caller to count; nullptr for none.
  [[nodiscard]] Suppression* match(const LiveFinding& finding);

  [[nodiscard]] const std::vector<Suppression>& all() const { return all_; }

 private:
  std::vector<Suppression> all_;
};

// Whether the pattern matches the text, by the rules above. Linear in the text
// for each '*' of the pattern.
[[nodiscard]] bool matches_pattern(std::string_view pattern, std::string_view text);

}  // namespace deadheat
