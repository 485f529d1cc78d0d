// SPDX-License-Identifier: Apache-2.0
// Writes a finding as a packet of raw_report.h: both accesses with their stacks
// and locks, the threads, and what the memory is.
#pragma once

#include <cstdint>

#include "core/cell_rules.h"
#include "runtime/origins.h"
#include "runtime/racy_words.h"
#include "runtime/thread_registry.h"

namespace deadheat::runtime {

struct RaceSides {
  CellEntry earlier;
  CellAccess later;
  Address word = 0;
  OriginDetails earlier_origin;
  OriginDetails later_origin;

  // The bytes that both touched, as the smallest range.
  [[nodiscard]] Address begin() const {
    return word + static_cast<Address>(__builtin_ctz(earlier.mask() & later.mask));
  }
  [[nodiscard]] Address end() const {
    return word + 32 - static_cast<Address>(__builtin_clz(earlier.mask() & later.mask));
  }
};

// Returns after the packet has left the process. One at a time: the caller holds
// the lock of the races.
// `counted` is the number of its Counts, 0 if there will be none.
void send_finding(ThreadState& self, const RaceSides& sides, std::uint64_t finding, std::uint32_t counted);

// The same of what was counted of a racy word.
void send_counts(const RacyWordCounts& counts);

}  // namespace deadheat::runtime
