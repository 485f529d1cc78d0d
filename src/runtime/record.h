// SPDX-License-Identifier: Apache-2.0
// --record: every event of the run, in one order, to `deadheat run`.
//
// While recording, each step of the program that the detector sees holds one
// global lock from writing its event to having drawn its conclusions, so the
// order of the events is the order in which the detector worked. That makes the
// program as slow as it sounds; it is for checking the detector, and for small
// programs. Without --record a step costs one test of a flag.
#pragma once

#include <cstdint>

#include "model/event.h"
#include "model/identity.h"
#include "runtime/thread_state.h"

namespace deadheat::runtime {

[[gnu::visibility("hidden")]] extern bool recording;  // set at start, before there are threads
[[nodiscard]] inline bool is_recording() { return recording; }

void begin_recorded_step(const Event& event, Address code);
void end_recorded_step();
// Writes an event; the lock is held already.
void record_more(const Event& event, Address code);
// Sends what is in the buffer. At exit, at fork, before exec.
void flush_recording();
void lock_recording();
void unlock_recording();

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

// The lock alone, where the event is known only later: then record_more().
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

}  // namespace deadheat::runtime
