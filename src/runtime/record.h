// SPDX-License-Identifier: Apache-2.0
// --record: every event of the run, in one order, to `deadheat run`.
//
// While recording, each step of the program that the detector sees holds one
// global lock from writing its event to having drawn its conclusions, so the
// order of the events is the order in which the detector worked. That makes the
// program as slow as it sounds; it is for checking the detector, and for small
// programs. Without --record a step costs one test of a flag.
//
// What is written is what the detector did, not what a well-behaved program would
// have done: report/trace_ledger.h makes a trace of it that keeps the rules.
// Where the vocabulary of model/event.h does not say enough, fields that have no
// meaning for a kind do: see recorded:: below.
//
// Calls cost the hooks nothing: before each event come those that the thread has
// entered and left since its event before.
//
// Events wait in a buffer that `deadheat run` shares (raw_report.h), so those of a
// process that is killed, crashes or calls exec are not lost. Where that memory
// cannot be had the buffer is our own, and such an end loses up to 2,048 events.
#pragma once

#include <cstdint>

#include "model/event.h"
#include "model/finding.h"
#include "model/identity.h"
#include "runtime/raw_report.h"
#include "runtime/thread_state.h"

namespace deadheat::runtime {

[[gnu::visibility("hidden")]] extern bool recording;  // set at start, before there are threads
[[nodiscard]] inline bool is_recording() { return recording; }

// At start, after the greeting; what was recorded before that is kept.
void start_recording();

void begin_recorded_step(const Event& event, Address code);
void end_recorded_step();
// Writes an event; the lock is held already.
void record_more(const Event& event, Address code);
// Sends what is in the buffer; the lock is held. At exit, and when it is full.
void flush_recording();
// One thread may take the lock again while it holds it.
void lock_recording();
void unlock_recording();

// Around a fork; the lock is held from the first to one of the others.
void on_recording_fork();
void on_recording_parent();
void on_recording_child();

class RecordedStep {
 public:
  RecordedStep(const ThreadState& /*self*/, const Event& event, Address code) {
    if (is_recording()) [[unlikely]]
      begin_recorded_step(event, code);
  }
  ~RecordedStep() {
    if (is_recording()) [[unlikely]]
      end_recorded_step();
  }
  RecordedStep(const RecordedStep&) = delete;
  RecordedStep& operator=(const RecordedStep&) = delete;
};

// The lock alone, where the event is known only later, or where there are several:
// then record_more().
class RecordingHold {
 public:
  RecordingHold() {
    if (is_recording()) [[unlikely]]
      lock_recording();
  }
  ~RecordingHold() {
    if (is_recording()) [[unlikely]]
      unlock_recording();
  }
  RecordingHold(const RecordingHold&) = delete;
  RecordingHold& operator=(const RecordingHold&) = delete;

  void write(const Event& event, Address code) const {
    if (is_recording()) [[unlikely]]
      record_more(event, code);
  }
};

// An access as an event; `flags` are raw_report::kAccess....
[[nodiscard]] inline Event access_event(ThreadId thread, AccessKind kind, Address address, std::size_t size,
                                        std::uint8_t flags) {
  const AccessFlavour flavour =
      (flags & raw_report::kAccessVolatile) != 0 ? AccessFlavour::kVolatile : AccessFlavour::kPlain;
  switch (kind) {
    case AccessKind::kRead:
      return events::read(thread, address, size, flavour);
    case AccessKind::kFree:
      return events::on_range(EventKind::kFree, thread, address, size);
    default:
      return events::write(thread, address, size, flavour);
  }
}

}  // namespace deadheat::runtime
