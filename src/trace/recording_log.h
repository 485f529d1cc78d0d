// SPDX-License-Identifier: Apache-2.0
// The logs of the recorder's agent (log_record.h), as events.
//
// Bytes come from a program that may have been killed, may have overwritten what it had mapped, or
// was never recorded at all; nothing in them is trusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "trace/log_record.h"
#include "trace/recording.h"
#include "trace/recording_file.h"

namespace deadheat {

// A log of one thread: the bytes of log.N and tail.N, either of which may be missing.
struct LogBytes {
  std::string name;  // for errors: "log.3"
  std::uint32_t thread = 0;
  std::span<const std::byte> log;
  std::span<const std::byte> tail;
};

// kMalformed, kUnsupported: not an agent's state, or of another version.
[[nodiscard]] Result<AgentState> parse_agent_state(std::span<const std::byte> bytes);

// Adds to `recording` its threads with their logs, sorted by number. Joins are resolved to
// threads and barriers to phases. Entries after `stopped_at` (ticks; 0: never) are left out: no log is
// complete from then on. kMalformed, kUnsupported: as above.
[[nodiscard]] Status add_logs(std::span<const LogBytes> logs, const TickConversion& to_time, std::uint64_t stopped_at,
                              Recording& recording);

}  // namespace deadheat
