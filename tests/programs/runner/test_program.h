// SPDX-License-Identifier: Apache-2.0
// One test program: what its comments say about how to build it, how to run it,
// and what a detector has to find. README.md of the folder above is the
// specification of these comments.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace deadheat::programs {

// A line of the program or of its plugin.
struct SourceLine {
  std::string file;  // without folders
  int line = 0;
  auto operator<=>(const SourceLine&) const = default;
};

// The lines that carry one label: a race between two of them, or of the only one
// with itself.
struct ExpectedRace {
  std::set<SourceLine> lines;
  bool may_be_missing = false;  // a label with a question mark
};

// How often races were seen, all findings together.
struct Occurrences {
  std::uint64_t count = 0;
  bool or_more = false;
};

// Where the compilers' own runtime is known to be wrong.
struct KnownDifference {
  std::string compiler;  // "g++", "clang", or empty for both
  std::string what;
};

struct TestProgram {
  std::string name;  // "race/mutex_wrong_lock"
  std::filesystem::path source;
  std::optional<std::filesystem::path> plugin;
  std::map<std::string, ExpectedRace> races;  // by label; none: race-free

  std::vector<std::string> compilers = {"g++", "clang"};
  std::vector<std::string> levels = {"-O0", "-O2"};
  std::vector<std::string> flags;
  std::vector<std::string> libraries;  // words for linking
  std::vector<std::string> packages;   // of pkg-config: words for both
  std::vector<std::string> needed_files;
  std::string options;                 // for DEADHEAT_OPTIONS
  std::string suppressions;            // text of a suppressions file
  std::string input;                   // standard input
  std::optional<int> exit_status = 0;  // of the program itself; nothing: any
  std::optional<int> findings;         // exactly so many
  std::optional<Occurrences> occurrences;
  bool may_lose = false;    // something that the report counts as lost
  bool is_recorded = true;  // with --record
  std::string recording_detector = "reference";
  int repeat = 1;
  bool takes_long = false;
  std::vector<KnownDifference> differences;

  [[nodiscard]] bool is_cpp() const { return source.extension() == ".cpp"; }
  [[nodiscard]] bool is_file_of_program(const std::string& file) const;
};

// Throws std::runtime_error that names file and line when a comment cannot be
// understood, or contradicts the folder of the program.
[[nodiscard]] TestProgram read_program(const std::filesystem::path& source);

// The things that the program is written for and that are not on this machine, in words; empty: all is there.
[[nodiscard]] std::string missing_for(const TestProgram& program);

// All programs below `folder`, by name. Plugins and headers are not programs.
[[nodiscard]] std::vector<TestProgram> find_programs(const std::filesystem::path& folder);

}  // namespace deadheat::programs
