// SPDX-License-Identifier: Apache-2.0
// Findings as one JSON document for machines. docs/report.schema.json describes
// it; field names and identifiers stay as they are within one `version`, new
// fields may be added. Addresses and identities of 64 bits are hexadecimal
// strings, because many JSON readers keep only 53 bits of a number.
#pragma once

#include <string>

#include "report/analysis.h"

namespace deadheat {

inline constexpr int kJsonReportVersion = 1;

// Indented, ends with a newline. Names that are not UTF-8 have the offending
// bytes replaced by U+FFFD, so that the document is valid whatever the trace.
[[nodiscard]] std::string format_json_report(const Analysis& analysis);

}  // namespace deadheat
