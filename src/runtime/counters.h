// SPDX-License-Identifier: Apache-2.0
// Honesty counters: everything that a limit of the machine or of the user forced
// the detector to lose. They are sent at exit and shown whenever one is not zero.
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/raw_report.h"

namespace deadheat::runtime {

enum class Loss : std::uint8_t {
  kRacesAtOnce,
  kNoCellBlock,
  kNoShadow,
  kShadowDropped,
  kReportTooLarge,
  kReportNotSent,
  kFramesLost,
  kLateFootprint,
  kLateLookup,
  kCount,
};

inline constexpr const char* kLossNames[] = {
    "races of one access beyond the first 32",
    "accesses not kept: no memory for their entries",
    "mappings without shadow, not checked",
    "times that old history was dropped (memory limit)",
    "stacks cut short in reports",
    "findings that could not be sent",
    "calls not in stacks: deeper than 131072",
    "accesses to large blocks, checked after they ended",
    "functions of libraries that were looked up late",
};

extern std::atomic<std::uint64_t> losses[static_cast<int>(Loss::kCount)];

inline void count_loss(Loss loss) { losses[static_cast<int>(loss)].fetch_add(1, std::memory_order_relaxed); }

// Sends the summary: occurrences of the findings and all counters.
enum class SummaryKind : std::uint8_t { kInterim, kFinal };
void send_summary(SummaryKind kind);
// How much was sampled so far.
void send_sampling(const raw_report::Sampling& totals);

}  // namespace deadheat::runtime
