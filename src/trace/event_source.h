// SPDX-License-Identifier: Apache-2.0
// EventSource: a stream of recorded events, whatever the format behind it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "model/dictionary.h"
#include "model/event.h"

namespace deadheat {

// How far a source has come, in bytes of its file.
struct SourceProgress {
  std::uint64_t done = 0;
  std::uint64_t total = 0;
};

class EventSource {
 public:
  EventSource() = default;
  EventSource(const EventSource&) = delete;
  EventSource& operator=(const EventSource&) = delete;
  virtual ~EventSource() = default;

  // The next events in order; an empty span is the end. The span is valid until
  // the next call. Errors: kMalformed, kUnsupported, kIo; after an error the
  // source is at its end.
  virtual Result<std::span<const Event>> next_batch() = 0;

  // What the numbers in the events delivered so far stand for.
  [[nodiscard]] virtual const Dictionary& dictionary() const = 0;

  [[nodiscard]] virtual SourceProgress progress() const = 0;

  // After the end: set when the file stops in the middle (its writer was
  // killed, the disk was full). What was delivered is a valid prefix; the
  // sentence says where it stops and why.
  [[nodiscard]] virtual std::optional<std::string> truncation() const = 0;
};

// Opens a trace in any known format, recognised by its content: binary, text,
// RAPID's STD. Errors: kIo (cannot open), kUnsupported (unknown format or
// version), kMalformed (damaged header).
Result<std::unique_ptr<EventSource>> open_trace(const std::string& path);

}  // namespace deadheat
