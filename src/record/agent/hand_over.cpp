// SPDX-License-Identifier: Apache-2.0
#include "record/agent/hand_over.h"

namespace deadheat::record {

thread_local constinit KnownRelease known_releases[kKnownReleases] = {};

}  // namespace deadheat::record
