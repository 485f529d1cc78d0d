// SPDX-License-Identifier: Apache-2.0
// Reads RAPID's STD text format: one event per line, `thread|op(operand)|site`,
// for example `T1|w(x)|12`. The traces of many papers on predictive race
// detection are published in it.
//
// How STD becomes events:
//   r(x) w(x)        Read, Write of 8 bytes. Each variable is a named range of
//                    its own; the ranges do not touch.
//   acq(l) rel(l)    LockAcquire, LockRelease, exclusive. STD does not write
//                    recursion down: the reader counts it into `depth`.
//   fork(t) join(t)  Fork, Join.
//   begin end        transaction marks of RAPID's atomicity checkers. They order
//                    nothing and are skipped, as is any other operation with the
//                    shape of one (`branch`, `dummy`, `enq`, ...); skipped()
//                    counts each by name.
//   site             a number becomes a line, `file:12` a file and its line,
//                    any other token a function.
// Threads, variables and locks are numbered in the order of appearance and keep
// their names in the dictionary.
//
// A thread that appears although nothing forked it gets a ThreadRoot before its
// first event (or before the join that mentions it first). One pass is enough
// for that: a fork after the first event of its thread is wrong in any case,
// and the trace checker says so. Memory grows with the names, not with the
// events.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "trace/event_source.h"
#include "trace/text_reader.h"

namespace deadheat {

class StdSource : public EventSource {
 public:
  // Operations that the event vocabulary has no word for, with their number, as
  // of the events delivered so far.
  [[nodiscard]] virtual const std::map<std::string, std::uint64_t>& skipped() const = 0;
};

// "-" is the standard input. Errors: kIo. With the counts.
Result<std::unique_ptr<StdSource>> open_std_source(const std::string& path);

// A whole trace in memory, for tests. Errors: kMalformed.
Result<ParsedTrace> parse_std_trace(std::string_view text);

}  // namespace deadheat
