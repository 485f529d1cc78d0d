// SPDX-License-Identifier: Apache-2.0
// EventSink: where recorded events go, whatever the format behind it. The
// mirror image of EventSource.
//
// The order of calls: update() and write() as often as needed, then close()
// once. A site, thread, range or synchronisation object may be used by an
// event before the dictionary names it, but a reader of the unfinished file
// then sees a number without a name; calling update() before the write() that
// uses new entries avoids that. A sink that is destroyed without close()
// leaves a file without its end marker: readers call it truncated.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "model/dictionary.h"
#include "model/event.h"

namespace deadheat {

class EventSink {
 public:
  EventSink() = default;
  EventSink(const EventSink&) = delete;
  EventSink& operator=(const EventSink&) = delete;
  virtual ~EventSink() = default;

  // Appends the events in order. Errors: kInvalid (an event that breaks a rule
  // of event_validity.h; those before it are written), kIo (after which every
  // further call fails in the same way).
  virtual Status write(std::span<const Event> events) = 0;

  // Writes the entries of the dictionary that this sink has not written yet.
  // The dictionary only grows between calls: sites are appended, names are
  // added, and nothing that was there changes. Cheap when nothing is new.
  // Errors: kInvalid (an entry that the format cannot hold), kIo.
  virtual Status update(const Dictionary& dictionary) = 0;

  // Hands everything written so far to the operating system. Errors: kIo.
  virtual Status flush() = 0;

  // Finishes the file; nothing may be written afterwards. Errors: kIo.
  virtual Status close() = 0;
};

enum class TraceFormat : std::uint8_t { kBinary, kText, kStd };

// Creates or overwrites the file; "-" is the standard output. Errors: kIo.
Result<std::unique_ptr<EventSink>> create_trace(const std::string& path, TraceFormat format);

}  // namespace deadheat
