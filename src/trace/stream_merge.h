// SPDX-License-Identifier: Apache-2.0
// merge_streams: one trace out of many that were recorded side by side.
//
// A recorder writes one stream per thread, so that threads need not wait for
// each other, and stamps each event with a number from a clock that all
// threads share. Each stream is sorted by it; merging them by number restores
// an order in which the execution can have happened. Equal numbers are ordered
// by thread, then by stream, so that the result does not depend on chance.
//
// Method: a heap of the streams by their next event. Memory: one chunk per
// stream. Time: log(streams) per event, less when one stream has long turns.
//
// Each stream names its own sites, so sites are renumbered by content. Named
// ranges, synchronisation objects and threads are united; of two names for the
// same thing the first stays.
//
// A stream that was cut off (its writer was killed) ends the merged trace too:
// beyond that point events of its thread are missing, and the others would no
// longer be a prefix of the execution. Only a stream whose last event is
// ThreadExit is known to be whole without its end marker.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "trace/event_source.h"

namespace deadheat {

// Opens binary traces with sequence numbers. Errors: those of BinaryReader, and
// kUnsupported for a trace without sequence numbers. While reading, a stream
// that goes backwards is kInvalid.
Result<std::unique_ptr<EventSource>> merge_streams(std::span<const std::string> paths);

}  // namespace deadheat
