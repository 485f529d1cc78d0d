// SPDX-License-Identifier: Apache-2.0
// What a hunt remembers: of each run, of each distinct race, and of what else went wrong.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/hunt_strategy.h"
#include "report/live_deadlock.h"
#include "report/live_report.h"
#include "schedule/run_file.h"

namespace deadheat {

enum class RunEnd : std::uint8_t {
  kExited,       // with a status
  kCrashed,      // by a signal that we did not send
  kTimeLimit,    // ended by us; so are those that follow
  kDeadlock,     // its threads wait for each other
  kInterrupted,  // the user ended the hunt
};

struct RunRecord {
  std::uint32_t number = 0;  // from 1
  RunStrategy strategy = RunStrategy::kNative;
  std::uint64_t seed = 0;
  double seconds = 0;
  RunEnd end = RunEnd::kExited;
  std::optional<int> exit_status;
  std::optional<int> signal;  // that crashed it
  schedule::RunCounters counters;
  std::vector<std::string> fingerprints;  // of its races
  std::uint32_t new_races = 0;            // of them
  std::uint32_t suppressed = 0;
  std::optional<std::string> finding;  // fingerprint of a crash or deadlock
  bool is_new_finding = false;

  [[nodiscard]] bool has_news() const { return new_races != 0 || is_new_finding; }
};

// Runs that had it. The first is the one that said so first; with several jobs others
// may end before it.
struct Sightings {
  std::uint32_t first_run = 0;
  RunStrategy first_strategy = RunStrategy::kNative;
  std::uint64_t first_seed = 0;
  std::uint32_t runs = 0;               // that have ended
  std::vector<RunStrategy> strategies;  // of them, each once

  void add(const RunRecord& run) {
    ++runs;
    if (std::find(strategies.begin(), strategies.end(), run.strategy) == strategies.end()) {
      strategies.push_back(run.strategy);
    }
  }
};

struct HuntRace {
  LiveRace race;  // as first found
  Sightings seen;
  std::uint64_t occurrences = 0;  // in all runs
};

// A crash or a deadlock.
struct HuntFinding {
  std::string fingerprint;
  std::optional<int> signal;  // none: a deadlock
  LiveDeadlock deadlock;
  std::vector<std::string> last_output;  // what the program said before, some lines
  Sightings seen;
};

// The program ended with a status that the first run did not have.
struct StatusObservation {
  int status = 0;
  std::uint32_t first_run = 0;
  std::uint32_t runs = 0;
};

}  // namespace deadheat
