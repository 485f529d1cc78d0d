// SPDX-License-Identifier: Apache-2.0
// LineReader: the lines of a file or of a text in memory, one at a time, in
// bounded memory. Shared by the readers of line formats.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "trace/event_source.h"
#include "trace/trace_file.h"

namespace deadheat {

class LineReader {
 public:
  // A longer line is malformed: no event needs it, and memory stays bounded.
  static constexpr std::size_t kLongestLine = 64 * 1024;

  // So many events a reader of lines delivers at once.
  static constexpr std::size_t kBatch = 4096;

  explicit LineReader(TraceFile file);
  // The text must outlive the reader.
  explicit LineReader(std::string_view text);

  struct Line {
    std::string_view text;  // without its end; valid until the next call
    // A last line without a newline: the file may have been cut there.
    bool terminated = true;
  };
  // The next line, or nothing at the end. A carriage return before the newline
  // belongs to the end of the line. Errors: kIo, kMalformed (line too long).
  Result<std::optional<Line>> next();

  // Of the line that next() gave last, from 1.
  [[nodiscard]] std::uint64_t line_number() const { return line_number_; }
  [[nodiscard]] SourceProgress progress() const { return {consumed_, total_}; }

 private:
  // Makes more of the file visible in window_; at its end sets at_end_. Errors: kIo.
  Status refill();

  std::optional<TraceFile> file_;  // none: the text is in memory
  std::vector<char> buffer_;
  std::string_view window_;  // read but not yet delivered
  bool at_end_ = false;      // nothing follows the window
  std::uint64_t line_number_ = 0;
  std::uint64_t consumed_ = 0;
  std::uint64_t total_ = 0;
};

}  // namespace deadheat
