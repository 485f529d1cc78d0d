// SPDX-License-Identifier: Apache-2.0
// From a racing pair of accesses to a finding that leaves the process.
//
// The first occurrence of a pair of code addresses and kinds is written out in
// full at once, and so is the first of each other object or way of calls there
// (race_variants.h); later ones are only counted. Findings on bytes that the program
// declared benign are not reported.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/cell_rules.h"
#include "model/identity.h"
#include "runtime/thread_registry.h"

namespace deadheat::runtime {

// `earlier` is an entry of the word's cell that races with `access`, which the
// thread is making now. Inside a RuntimeScope.
[[gnu::noinline]] void report_race(ThreadState& self, CellEntry earlier, const CellAccess& access, Address word);

void add_benign_range(Address begin, std::uint64_t size);
// The first byte of [begin, end) that it does want to hear of; end: none.
[[nodiscard]] Address first_not_benign(Address begin, Address end);
void forget_benign_ranges(Address begin, std::uint64_t size);
// There were some, ever.
[[gnu::visibility("hidden")]] extern std::atomic<bool> has_benign_ranges;

// Findings sent so far, by this process.
[[nodiscard]] std::uint64_t finding_count();

// Calls visit(finding, occurrences, context) for each finding.
void for_each_finding(void (*visit)(std::uint64_t finding, std::uint64_t occurrences, void* context), void* context);

// fork: the lock of the table of findings.
void lock_races();
void unlock_races();
void lock_benign_ranges();
void unlock_benign_ranges();

}  // namespace deadheat::runtime
