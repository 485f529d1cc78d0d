// SPDX-License-Identifier: Apache-2.0
// The accesses of all threads of a recording, rebuilt in parallel, a few hundred samples at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "replay/rebuild.h"
#include "report/recording_analysis.h"
#include "trace/recording.h"

namespace deadheat {

struct RebuiltAccesses {
  std::vector<std::vector<replay::RebuiltAccess>> threads;  // as in the recording
  std::vector<std::string> warnings;                        // files that could not be used
};

[[nodiscard]] RebuiltAccesses rebuild_accesses(const Recording& recording, const std::vector<CodeMapping>& mappings,
                                               const RecordingRequest& request, RecordingStats& stats);

// Where a thread's known path goes through libraries, where it may synchronise. An access on the other side
// of such a place than its sample belongs to another stretch, nobody knows which.
class PathKnowledge {
 public:
  PathKnowledge(const RecordedThread& thread, const std::function<bool(std::uint64_t code)>& is_library);
  // Of an access so many instructions after (before) the sample. Without a path replay does not enter libraries.
  [[nodiscard]] bool crosses_library(const RegisterSample& sample, std::int64_t distance) const;

 private:
  std::vector<std::uint64_t> library_;  // positions, sorted
};

}  // namespace deadheat
