// SPDX-License-Identifier: Apache-2.0
// Races in the forms that other tools read: SARIF 2.1.0 for code scanning, JUnit XML for
// the lists of tests that CI systems keep, lines that GitHub shows beside the code.
//
// All are made of documents (docs/report.schema.json), so that a run and the store give the
// same. Paths below `root` become relative to it, which is what these tools look up.
#pragma once

#include <string>
#include <vector>

#include "report/live_report.h"
#include "store/records.h"

namespace deadheat {

struct RaceReport {
  std::string tool_version;
  std::string program;  // or the trace, or the store
  std::string root;     // an absolute directory, or empty
  bool has_baseline = false;

  struct Entry {
    Sighting race;
    bool is_known = false;    // in the baseline: does not fail a build
    bool is_ignored = false;  // by the user's verdict in the store
  };
  std::vector<Entry> races;

  // Those that fail a build.
  [[nodiscard]] std::size_t failures() const;
};

// Both stacks of a race are a code flow of two threads and two stacks; the place is the innermost
// frame of the later access below `root`, the other side is a related location.
[[nodiscard]] std::string format_sarif(const RaceReport& report);
// One test per race, that failed, or was skipped if the race is known or ignored; one that passed
// if there is no race.
[[nodiscard]] std::string format_junit(const RaceReport& report);
// One line per race: an error, or a notice if it is known.
[[nodiscard]] std::string format_github_lines(const RaceReport& report);

// Lines of a suppression file that hide this race, and as little else as the syntax can say.
// Empty when nothing is known of its code.
[[nodiscard]] std::string format_suppression(const LiveRace& race);

}  // namespace deadheat
