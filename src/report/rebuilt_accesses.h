// SPDX-License-Identifier: Apache-2.0
// The accesses of all threads of a recording, rebuilt in parallel, a few hundred samples at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "replay/rebuild.h"
#include "report/recording_analysis.h"
#include "trace/recording.h"

namespace deadheat {

struct RebuiltAccesses {
  std::vector<std::vector<replay::RebuiltAccess>> threads;  // as in the recording
  std::vector<std::vector<replay::CallFrame>> frames;       // of their accesses, likewise
  std::vector<std::string> warnings;                        // files that could not be used
};

[[nodiscard]] RebuiltAccesses rebuild_accesses(const Recording& recording, const std::vector<CodeMapping>& mappings,
                                               const RecordingRequest& request, RecordingStats& stats);

// When a thread made the accesses of its path, as far as its log can tell the difference.
//
// A path is a row of stretches of the program's own code; between two of them it goes through libraries, where it may
// synchronise, or is not known. Within a stretch nothing is logged, so one moment that is known of any
// of its instructions (a sample, a mark) is as good as any other: no entry of the log is between it and the rest.
class PathPlaces {
 public:
  PathPlaces(const RecordedThread& thread, const std::function<bool(std::uint64_t code)>& is_library);
  // Nothing where no moment of the stretch is certain. Without a path: of the sample; replay does not enter libraries
  // then.
  [[nodiscard]] std::optional<std::uint64_t> time_of(const replay::RebuiltAccess& access) const;

 private:
  struct Stretch {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::optional<std::uint64_t> time;
  };

  void learn(const PathMark& mark);
  [[nodiscard]] const Stretch* stretch_at(std::uint64_t position) const;

  const RecordedThread& thread_;
  std::vector<Stretch> stretches_;  // by position
};

}  // namespace deadheat
