// SPDX-License-Identifier: Apache-2.0
// shrink: from a trace that makes a test fail to a small one that still does.
//
// Problem: a random trace of eighty events that two detectors judge differently
// tells a person nothing; the five events that matter do.
// Method: delta debugging. Remove what belongs together (a thread with its fork
// and join; all events of an object; an acquire with its release; a call with
// its return), then chunks of halving length down to single events, then make
// what is left simpler (one thread fewer, smaller sizes, no sites). A candidate
// counts only when the trace checker accepts it and the predicate still holds.
// All passes repeat until none finds anything: the result is a local minimum,
// unless the budget of predicate calls ends the search earlier.
// Cost: the checker weeds out most candidates; the predicate is called a few
// hundred times for traces of a hundred events.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "model/event.h"

namespace deadheat {

using StillFails = std::function<bool(std::span<const Event>)>;

struct ShrinkBudget {
  std::size_t predicate_calls = 20'000;
};

// Requires still_fails(trace). The result satisfies it, and the trace checker
// if `trace` did.
[[nodiscard]] std::vector<Event> shrink(std::vector<Event> trace, const StillFails& still_fails,
                                        ShrinkBudget budget = {});

}  // namespace deadheat
