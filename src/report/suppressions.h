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
// They come from the user's files, for all programs, and from a program itself
// (__tsan_default_suppressions), for its own races. Some are ours: races that the headers of a C++ library
// have among themselves, and which no program can do anything about.
//
// A pattern matches anywhere in the text; '^' at its start and '$' at its end
// tie it to the ends; '*' stands for any characters. Case counts.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "report/live_finding.h"

namespace deadheat {

enum class SuppressionKind : std::uint8_t { kRace, kRaceTop, kCalledFromLibrary, kOther };

struct Suppression {
  SuppressionKind kind = SuppressionKind::kRace;
  std::string line;  // as written: "race:SomeFunction"
  std::string pattern;
  std::string program;        // whose races it is for; empty: everybody's
  std::uint64_t matches = 0;  // distinct races that it hid
};

class Suppressions {
 public:
  // Adds the lines of a file's text; `name` is the file's, for messages. Errors:
  // kMalformed, "name:3: ...", after which nothing of this text was added.
  Status add(std::string_view text, const std::string& name);
  // Errors: kIo, kMalformed.
  Status add_file(const std::string& path);

  // Adds lines that a program brought along; the first has that number in the
  // program's text. What a program has said once is not added again. Errors:
  // kMalformed, with the first line that is wrong; all others were added.
  Status add_of_program(std::string_view text, const std::string& program, std::uint32_t first_line);

  // The first that hides the finding of that program, for the caller to count;
  // nullptr for none. One of ours is not among all().
  [[nodiscard]] Suppression* match(const LiveFinding& live, std::string_view program = {});
  // The same for a finding of a trace, whose memory has that name or none.
  [[nodiscard]] Suppression* match(const Finding& finding, const Dictionary& dictionary, std::string_view memory_name,
                                   std::string_view program = {});

  [[nodiscard]] const std::vector<Suppression>& all() const { return all_; }

 private:
  [[nodiscard]] static std::vector<Suppression> of_headers();

  std::vector<Suppression> all_;
  std::vector<Suppression> ours_ = of_headers();
  std::set<std::pair<std::string, std::uint32_t>> known_programs_;  // with the first line of each piece
};

// Whether the pattern matches the text, by the rules above. Linear in the text
// for each '*' of the pattern.
[[nodiscard]] bool matches_pattern(std::string_view pattern, std::string_view text);

}  // namespace deadheat
