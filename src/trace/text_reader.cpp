// SPDX-License-Identifier: Apache-2.0
#include "trace/text_reader.h"

#include <fmt/format.h>

#include <optional>
#include <span>
#include <string>
#include <utility>

#include "trace/text_format.h"
#include "trace/text_lines.h"
#include "trace/text_parser.h"

namespace deadheat {

namespace {

// What a last line without newline that does not parse means.
enum class BadLastLine : std::uint8_t { kTruncation, kError };

class TextReader final : public EventSource {
 public:
  TextReader(LineReader lines, BadLastLine bad_last_line) : lines_(std::move(lines)), bad_last_line_(bad_last_line) {
    batch_.reserve(LineReader::kBatch);
  }

  // The events before a bad line are delivered first, then the error.
  Result<std::span<const Event>> next_batch() override {
    batch_.clear();
    while (!done_ && batch_.size() < LineReader::kBatch) read_line();
    if (batch_.empty() && failure_) return *std::exchange(failure_, std::nullopt);
    return std::span<const Event>(batch_);
  }

  [[nodiscard]] const Dictionary& dictionary() const override { return parser_.dictionary(); }
  [[nodiscard]] SourceProgress progress() const override { return lines_.progress(); }
  [[nodiscard]] std::optional<std::string> truncation() const override { return truncation_; }

 private:
  void read_line() {
    const Result<std::optional<LineReader::Line>> line = lines_.next();
    if (!line.ok()) return stop(line.error());
    if (!line.value()) {
      done_ = true;
      return;
    }
    const Result<std::optional<Event>> event = parser_.parse_line(line.value()->text);
    if (event.ok()) {
      if (event.value()) batch_.push_back(*event.value());
      return;
    }
    std::string message = fmt::format("line {}: {}", lines_.line_number(), event.error().message);
    if (!line.value()->terminated && bad_last_line_ == BadLastLine::kTruncation) {
      truncation_ = fmt::format("the file ends in the middle of a line; {}", message);
      done_ = true;
      return;
    }
    stop({event.error().code, std::move(message)});
  }

  void stop(Error error) {
    failure_ = std::move(error);
    done_ = true;
  }

  LineReader lines_;
  BadLastLine bad_last_line_;
  text::TextParser parser_;
  std::vector<Event> batch_;
  bool done_ = false;
  std::optional<Error> failure_;
  std::optional<std::string> truncation_;
};

}  // namespace

Result<std::unique_ptr<EventSource>> open_text_trace(const std::string& path) {
  auto file = TraceFile::open(path);
  if (!file.ok()) return file.error();
  return read_text_trace(std::move(file).value());
}

std::unique_ptr<EventSource> read_text_trace(TraceFile file) {
  return std::make_unique<TextReader>(LineReader(std::move(file)), BadLastLine::kTruncation);
}

Result<ParsedTrace> parse_text_trace(std::string_view text) {
  TextReader reader(LineReader(text), BadLastLine::kError);
  ParsedTrace trace;
  for (;;) {
    const Result<std::span<const Event>> batch = reader.next_batch();
    if (!batch.ok()) return batch.error();
    if (batch.value().empty()) break;
    trace.events.insert(trace.events.end(), batch.value().begin(), batch.value().end());
  }
  trace.dictionary = reader.dictionary();
  return trace;
}

}  // namespace deadheat
