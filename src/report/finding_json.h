// SPDX-License-Identifier: Apache-2.0
// Findings as one JSON document for machines. docs/report.schema.json describes
// it; field names and identifiers stay as they are within one `version`, new
// fields may be added. Addresses and identities of 64 bits are hexadecimal
// strings, because many JSON readers keep only 53 bits of a number.
#pragma once

#include <optional>
#include <string>

#include "report/analysis.h"
#include "report/live_report.h"

namespace deadheat {

inline constexpr int kJsonReportVersion = 1;

// Indented, ends with a newline. Names that are not UTF-8 have the offending
// bytes replaced by U+FFFD, so that the document is valid whatever the trace.
[[nodiscard]] std::string format_json_report(const Analysis& analysis);

// A run of a program, or what the raw files of one say.
struct LiveRunFacts {
  std::string tool_version;
  std::string program;
  std::optional<int> exit_status;      // unless killed by a signal, or not known
  std::optional<int> signal;           // that killed it
  std::optional<std::string> problem;  // why the report is not complete
  bool sampling_requested = false;
  bool cold_sampling_requested = false;
};

// The same document for races of a running program: "run" stands where an
// analysis has "trace", and findings have more members. Suppressed races are
// counted and left out.
[[nodiscard]] std::string format_live_json_report(LiveReport& report, const LiveRunFacts& facts);

// What a running process says of its sampling: {"process": ..., "sampling": ...} with
// the "sampling" of a report.
[[nodiscard]] std::string format_sampling_json(std::uint32_t process, const raw_report::Sampling& sampling);

}  // namespace deadheat
