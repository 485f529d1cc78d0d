// SPDX-License-Identifier: Apache-2.0
// Races of a running program as text for people: the layout of finding_text.h
// with what only a live process can tell.
//
//   1. write-write race on 8 bytes at 0x7b0400000010, 16 bytes into a heap block of 64 bytes
//        later  write of 8 bytes by thread 2 (teller), epoch 4@2
//               deposit    bank.cpp:42
//               serve      bank.cpp:60
//               holds audit_lock (since deposit bank.cpp:40)
//      earlier  write of 8 bytes by thread 1 (main), epoch 9@1
//               transfer   bank.cpp:31
//               holds no lock
//       memory  heap block of 64 bytes at 0x7b0400000000, allocated by thread 1 (main)
//               open_bank  bank.cpp:12
//       thread  thread 2 (teller), created by thread 1 (main)
//               main       bank.cpp:75
//         lock  audit_lock (0x55d0c0ffee00), created or first used
//               main       bank.cpp:71
//          why  nothing orders the two accesses; the earlier access holds no lock
//         seen  in process 4711 (bank); fingerprint 8c0f2a9d31f6e7b5
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "report/live_report.h"
#include "report/text_layout.h"

namespace deadheat {

// One race; `number` counts from 1. Ends with a newline.
[[nodiscard]] std::string format_live_race(const LiveRace& race, std::uint64_t number, ColourMode colour);

// "2 data races (17 occurrences), 1 suppressed". "at least" where a process died
// before it could count.
[[nodiscard]] std::string describe_totals(LiveReport& report, ColourMode colour);

// One line per counter of something lost: "lost: races not reported: table full (3)".
[[nodiscard]] std::vector<std::string> describe_losses(const LiveReport& report);

// What is known only at the end: "race 1: 23,114 of 23,117 accesses to this memory after the
// race was seen hold queue_mutex; the later one here does not". Of races where most of them
// hold a lock, and of the first few of these; numbers as in format_live_race().
[[nodiscard]] std::vector<std::string> describe_counts(LiveReport& report);

// For --stats: all counters, and how many races each suppression hid.
[[nodiscard]] std::string format_live_stats(const LiveReport& report);

// "heap block of 64 bytes at 0x7b04, allocated by thread 1 (main)".
[[nodiscard]] std::string describe_memory(const LiveFinding& live);

}  // namespace deadheat
