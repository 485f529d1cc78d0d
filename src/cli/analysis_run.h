// SPDX-License-Identifier: Apache-2.0
// Runs a detector over a trace file, with the checker in front of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "core/detector.h"
#include "report/analysis.h"

namespace deadheat {

// Whether the trace is checked for being one that a program can have produced.
enum class Checking : std::uint8_t { kOn, kOff };

struct AnalysisRequest {
  std::string path;
  DetectorKind detector = DetectorKind::kFastTrack;
  DetectorOptions detector_options;
  Checking checking = Checking::kOn;
};

struct AnalysisRun {
  // Of the whole trace or, when it is damaged, of the part before the damage.
  Analysis analysis;
  // Set when the trace is malformed or unreadable. A file that merely stops early
  // is no error if it has events: see Analysis::incomplete.
  std::optional<Error> error;
  double seconds = 0;
};

// As the user names it: "fasttrack", "slimstate", "djit", ...
[[nodiscard]] std::string name_of(DetectorKind kind);

// Errors: those of open_trace(). Shows its progress on a terminal.
[[nodiscard]] Result<AnalysisRun> run_analysis(const AnalysisRequest& request);

// Reads the trace once more, up to where it was analysed, for what the accesses to racing memory
// have in common: Analysis::contexts. Nothing happens without races, or if the file is no regular
// one (a pipe has been read).
void count_accesses(Analysis& analysis);

}  // namespace deadheat
