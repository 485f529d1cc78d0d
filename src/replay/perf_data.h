// SPDX-License-Identifier: Apache-2.0
// Reads what `perf record` wrote: the perf.data container, with samples of registers and with Intel PT.
//
// The file says everything twice or in parts: attributes say which fields samples have, the data section has
// events one after another, and raw PT data follows its AUXTRACE event. Nothing in it
// is trusted: each length is checked before it is used, and unknown events are skipped by theirs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "trace/recording.h"

namespace deadheat::replay {

// A block of raw PT data, of one processor or of one thread.
struct AuxBlock {
  std::uint32_t cpu = 0;
  std::int32_t thread = -1;  // -1: whatever ran on that processor
  std::uint64_t offset = 0;  // of the first byte in its buffer's history
  std::span<const std::byte> bytes;
};

struct PerfData {
  Recording recording;                            // without paths
  std::vector<AuxBlock> aux;                      // in the order of the file
  std::map<std::uint32_t, std::uint64_t> events;  // how many of each type
  std::uint64_t aux_lost = 0;                     // AUX events that say data was lost
};

// The bytes must stay. kMalformed: not perf.data, or a length in it is wrong; says at which byte. kUnsupported: the
// format for pipes, compressed events, another byte order.
[[nodiscard]] Result<PerfData> parse_perf_data(std::span<const std::byte> bytes, const std::string& name);

// As `deadheat analyze` needs it: with the trace of its processors, and which thread each ran (replay/trace_paths.h
// makes paths of them). Further kIo: cannot be read.
[[nodiscard]] Result<Recording> read_perf_data(const std::string& path);

}  // namespace deadheat::replay
