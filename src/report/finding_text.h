// SPDX-License-Identifier: Apache-2.0
// Findings as text for people.
//
//   1. write-write race on balance (8 bytes at 0x601040)
//        later  write of 8 bytes by thread 2 (teller), epoch 4@2
//               deposit    bank.cpp:42
//               serve      bank.cpp:60
//               holds audit_lock
//      earlier  write of 8 bytes by thread 1 (main), epoch 9@1
//               transfer   bank.cpp:31
//               holds no lock
//          why  nothing orders the two accesses; the earlier access holds no lock, the later one audit_lock;
//               23,114 of 23,117 accesses to this memory hold audit_lock; the earlier one here does not
//         seen  5,021 times, first at event 1,203; fingerprint 8c0f2a9d31f6e7b5
//
// The later access comes first: it is the one whose state the detector saw in
// full, as in a debugger's stack. Colour is the caller's decision; the plain
// form has no escape sequences at all.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/detector.h"
#include "report/analysis.h"
#include "report/text_layout.h"

namespace deadheat {

// One finding; `number` counts from 1, `context` may be null. Ends with a newline.
[[nodiscard]] std::string format_finding(const Finding& finding, std::uint64_t number, const Dictionary& dictionary,
                                         ColourMode colour, const AccessContext* context = nullptr);

// One line, with its newline:
// "deadheat: 3 data races (5,021 occurrences) in 1,204,113 events, 4 threads".
[[nodiscard]] std::string format_summary(const Analysis& analysis, ColourMode colour);

// A table of counters, one per line; nothing for none.
[[nodiscard]] std::string format_counters(const std::vector<Counter>& counters);

// Every finding with an empty line after each, and the summary.
[[nodiscard]] std::string format_text_report(const Analysis& analysis, ColourMode colour);

}  // namespace deadheat
