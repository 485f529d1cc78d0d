// SPDX-License-Identifier: Apache-2.0
// Recordings of stepped programs, in the recorder's own format.
//
//   steps        what was stepped as it is: every instruction's address, registers at every n-th
//   software PT  the same, written down as the backend `intel` would: bytes of Intel PT of processors on which the
//                threads take turns, traced in the program's own code alone, and samples that know no
//                more than their time. It shows that such recordings can be analysed where there is no such hardware.
//
// The threads run under ptrace, and their agent logs as always.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "record/stepper.h"
#include "trace/recording_file.h"

namespace deadheat::record {

struct StepPlan {
  Recording head;                      // program, arguments, backend
  std::uint64_t period = 10'000;       // a sample every so many instructions of a thread
  std::vector<std::string> functions;  // only these, with all that they call; none: everything
  std::uint64_t stack_bytes = 0;       // with each sample
};

// A listener that fills the recording.
class StepRecorder : public StepListener {
 public:
  // After the last step.
  virtual void finish() = 0;
  [[nodiscard]] std::uint64_t samples() const { return samples_; }
  // Set when the program was killed because it cannot be recorded so: kInvalid, as function_addresses().
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

  std::vector<std::uint64_t> on_ready(pid_t process) override;

 protected:
  StepRecorder(const StepPlan& plan, RecordingWriter& writer) : plan_(plan), writer_(writer) {}
  // Of the program itself, not of a library.
  [[nodiscard]] bool is_own_code(std::uint64_t ip) const { return ip >= own_begin_ && ip < own_end_; }
  void add_sample(const Step& step, std::uint64_t time, std::optional<std::uint64_t> position);

  const StepPlan& plan_;
  RecordingWriter& writer_;
  std::vector<CodeMapping> mappings_;
  std::uint64_t samples_ = 0;
  std::optional<Error> error_;

 private:
  std::uint64_t own_begin_ = 0;
  std::uint64_t own_end_ = 0;
};

[[nodiscard]] std::unique_ptr<StepRecorder> make_path_recorder(const StepPlan& plan, RecordingWriter& writer);
[[nodiscard]] std::unique_ptr<StepRecorder> make_software_pt_recorder(const StepPlan& plan, RecordingWriter& writer);

}  // namespace deadheat::record
