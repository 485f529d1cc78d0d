// SPDX-License-Identifier: Apache-2.0
// The races of a recording: accesses are rebuilt around the samples, each is placed between its
// thread's log entries (trace/recorded_order.h), and a detector runs over the whole.
//
// What is a race and what only a suspect. The log has every call that orders threads, but no atomic
// operation: those are ordinary instructions. If none of the program's own code can have any
// (image/unlogged_order.h), the log is complete, and a pair that it does not order is a race:
// trace/recorded_order.h has the argument. Otherwise pairs that the log does not order are suspects: real races
// among them, and pairs that an atomic operation orders. Suspects are told apart and never count
// as races.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/detector.h"
#include "replay/trace_paths.h"
#include "report/analysis.h"
#include "trace/recording.h"

namespace deadheat {

enum class Reconstruction : std::uint8_t {
  kFull,
  kSingleBlock,  // RaceZ
  kNone,         // the sampled instructions themselves
};

struct RecordingRequest {
  DetectorKind detector = DetectorKind::kFastTrack;
  Reconstruction reconstruction = Reconstruction::kFull;
  unsigned workers = 0;  // 0: one for each processor
  std::function<void(std::uint64_t done, std::uint64_t total, std::uint64_t accesses)> progress;
};

struct RecordingPhases {
  double code = 0;     // files read, what is atomic in them
  double decode = 0;   // of a processor's trace
  double rebuild = 0;  // accesses
  double order = 0;
  double detect = 0;

  [[nodiscard]] double all() const { return code + decode + rebuild + order + detect; }
};

struct RecordingStats {
  std::uint64_t samples = 0;
  std::uint64_t sampled_accesses = 0;  // at the sampled instructions themselves
  std::uint64_t accesses = 0;          // all, stacks included
  std::uint64_t forward = 0;
  std::uint64_t backward = 0;
  std::uint64_t pc_relative = 0;
  std::uint64_t by_register = 0;  // how addresses became known, see replay/rebuild.h
  std::uint64_t by_memory = 0;
  std::uint64_t by_code = 0;
  std::uint64_t accesses_on_path = 0;
  std::uint64_t conflicts = 0;
  std::uint64_t stack = 0;     // left out: of the thread's own stack,
  std::uint64_t atomic = 0;    // atomic,
  std::uint64_t library = 0;   // of libraries,
  std::uint64_t unsure = 0;    // across a call that may have synchronised
  std::uint64_t compared = 0;  // what is left
  std::uint64_t log_entries = 0;
  replay::TracePathCounts trace;  // of the processors' traces, if there are any
  RecordingPhases seconds;
};

struct RecordingAnalysis {
  Analysis races;
  // Unordered by the log, in a program that may order its threads otherwise.
  Analysis suspects;
  std::vector<std::string> unlogged_order;  // why; empty: nothing does
  std::vector<std::string> warnings;
  RecordingStats stats;
};

// A processor's trace in it becomes paths first.
[[nodiscard]] RecordingAnalysis analyse_recording(Recording& recording, const RecordingRequest& request);

}  // namespace deadheat
