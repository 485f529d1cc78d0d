// SPDX-License-Identifier: Apache-2.0
// From the processors' traces of a recording to the paths of its threads.
//
// A processor's trace is decoded as a whole, because packets depend on those before them. Each of its runs belongs to
// the thread whose range it is in: the system ends a range when it takes a thread off the processor, and no run goes
// on beyond that. A thread's runs of all processors, in the order of its ranges, are its path.
//
// Where a sample is on the path. It was taken in an interrupt, so a run ended there: at the sample's very instruction,
// with its time between the end of that run and the beginning of the next. The sample has a place if exactly one place
// of the path is possible by address and time; a sample that has none is left out. Nothing is guessed: the registers of
// a sample at the wrong round of a loop would make wrong addresses.
//
// Time stamps are rare (one in some hundred nanoseconds at best), so most moments are known as an interval. A run that
// has one stamp after its beginning and a later one before its end was certainly under way in between.
#pragma once

#include <cstdint>
#include <string>

#include "replay/code_space.h"
#include "trace/recording.h"

namespace deadheat::replay {

struct TracePathCounts {
  std::uint64_t instructions = 0;
  std::uint64_t runs = 0;
  std::uint64_t unowned_runs = 0;  // nobody says of which thread; left out
  std::uint64_t errors = 0;        // of decoding; each is a gap
  std::uint64_t overflows = 0;
  std::uint64_t placed = 0;  // samples
  std::uint64_t unplaced = 0;
  std::string first_error;
};

// Fills paths, marks and positions of samples, and frees the trace. Samples of a thread with a path that have no place
// on it are removed. Nothing happens without a trace.
TracePathCounts decode_traces(Recording& recording, const CodeSpace& code);

}  // namespace deadheat::replay
