// SPDX-License-Identifier: Apache-2.0
// TraceOutput: a trace file that a command writes, as `trace convert` and
// `trace generate` share it: its format by word or by the path's ending, and no
// half-written file left behind after a failure.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/choices.h"
#include "trace/event_sink.h"

namespace deadheat {

// For --to.
[[nodiscard]] const Choices<TraceFormat>& trace_format_choices();

// ".dht" is binary, ".trace" and ".txt" are text, ".std" is RAPID's; "-" is
// text. Errors: kInvalid, when none was chosen and the ending is another one.
[[nodiscard]] Result<TraceFormat> format_for(const std::string& path, std::optional<TraceFormat> chosen);

class TraceOutput {
 public:
  // Errors: those of create_trace().
  static Result<TraceOutput> create(const std::string& path, TraceFormat format);

  TraceOutput(TraceOutput&&) = default;
  TraceOutput(const TraceOutput&) = delete;
  TraceOutput& operator=(TraceOutput&&) = delete;
  TraceOutput& operator=(const TraceOutput&) = delete;
  // Removes the file unless close() was called and succeeded.
  ~TraceOutput();

  [[nodiscard]] EventSink& sink() { return *sink_; }
  Status close();

 private:
  TraceOutput(std::string path, std::unique_ptr<EventSink> sink) : path_(std::move(path)), sink_(std::move(sink)) {}

  std::string path_;
  std::unique_ptr<EventSink> sink_;  // none once closed
};

}  // namespace deadheat
