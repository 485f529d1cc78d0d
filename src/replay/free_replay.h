// SPDX-License-Identifier: Apache-2.0
// Replay where the path is not known: forward as long as every branch can be computed, backward in the sample's block.
#pragma once

#include "replay/rebuild.h"

namespace deadheat::replay {

[[nodiscard]] RebuiltThread rebuild_without_path(const CodeSpace& code, const RecordedThread& thread,
                                                 std::size_t first_sample, std::size_t last_sample,
                                                 const RebuildOptions& options);

}  // namespace deadheat::replay
