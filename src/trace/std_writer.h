// SPDX-License-Identifier: Apache-2.0
// Writes RAPID's STD text format (std_reader.h says what it looks like), as far
// as STD can express a trace.
//
//   exact     reads and writes, exclusive acquire and release at any depth,
//             condition waits (a rel and an acq of the mutex), fork, join, root.
//   harmless  failed tries, signals, broadcasts, detach, exit, calls, sampling
//             marks: dropped and counted; they change no verdict on races.
//   harmful   everything whose loss would change the verdict: atomics and
//             fences, shared locks, barriers, semaphores, once flags, annotation
//             tags, ignore and benign marks, allocation and free, destruction,
//             and accesses that overlap an earlier variable only in part. There
//             is no way to write an atomic in STD that its readers agree on: as
//             a lock it would order too much, as an access it would race.
// STD variables have neither size nor address: a variable here is what begins at
// one address, named after the dictionary's range or after the address.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "base/result.h"
#include "trace/event_sink.h"

namespace deadheat {

// What to do with an event whose loss would change the verdict.
enum class StdLoss : std::uint8_t { kRefuse, kDropAndCount };

class StdSink : public EventSink {
 public:
  // What was dropped, by the word of the event kind; also "acquire shared",
  // "release shared" and "partial overlap".
  [[nodiscard]] virtual const std::map<std::string, std::uint64_t>& lost_events() const = 0;
};

// As create_std_trace() in std_format.h, with the choice and the counts. With
// kRefuse, write() gives kUnsupported at the first harmful event.
Result<std::unique_ptr<StdSink>> create_std_sink(const std::string& path, StdLoss loss);

}  // namespace deadheat
