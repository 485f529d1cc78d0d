// SPDX-License-Identifier: Apache-2.0
// What a detector said about a run, brought to one form, and whether that is
// what the program's comments ask for.
#pragma once

#include <cstdint>
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
  std::string earlier_kind = {};  // "read", "atomic_write"; empty when not known
  std::string later_kind = {};
  // "file.c:12" of the code that made the access itself, wherever that is: traces
  // have no calls. Empty when not known.
  std::string earlier_code = {};
  std::string later_code = {};
  std::uint64_t occurrences = 1;
  // Of the first occurrence. The index is that of the later access in a trace.
  std::uint64_t address = 0;
  std::uint64_t size = 0;
  std::uint64_t event_index = 0;

  [[nodiscard]] std::string text() const;
};

// From the JSON report of `deadheat run`. Throws std::runtime_error when it is
// not one.
[[nodiscard]] std::vector<FoundRace> races_in_json(const std::string& json, const TestProgram& program);

// What the same report says was lost: "frames not kept (3)", one line each.
[[nodiscard]] std::vector<std::string> losses_in_json(const std::string& json);

// From the text that the compilers' own runtimes print. Reports that are not
// about races (deadlocks, leaked threads) are left out.
[[nodiscard]] std::vector<FoundRace> races_in_tsan_text(const std::string& text, const TestProgram& program);

// Whether a run found what the traces of the same run hold, one of each process, by
// the reference detector; one line for each difference. The reference remembers the last access
// of every thread for ever, the run forgets what a younger access stands for, so
// it may find fewer pairs. But every pair that it reports must be one, and of each
// byte the first race must be reported: one of the pairs, at least, that the byte's
// first racing access makes. Pairs are compared by the code that made the accesses
// and their kinds, in either order. A run with suppressions does not say which
// races it found: then only those that it reports count.
enum class Suppressed : std::uint8_t { kNothing, kSomething };
[[nodiscard]] std::vector<std::string> disagreements(const std::vector<FoundRace>& online,
                                                     const std::vector<std::vector<FoundRace>>& traces,
                                                     Suppressed suppressed = Suppressed::kNothing);

// What is wrong with what was found, one line each; empty: as expected.
[[nodiscard]] std::vector<std::string> differences(const std::vector<FoundRace>& found, const TestProgram& program);

}  // namespace deadheat::programs
