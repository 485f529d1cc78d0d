// SPDX-License-Identifier: Apache-2.0
#include "trace/text_lines.h"

#include <fmt/format.h>

#include <cstring>
#include <span>
#include <utility>

namespace deadheat {

namespace {
// Twice the longest line: after moving the rest of the window to the front there
// is always room for the remainder of a line that is not too long.
constexpr std::size_t kBufferSize = 2 * LineReader::kLongestLine;
}  // namespace

LineReader::LineReader(TraceFile file) : file_(std::move(file)), buffer_(kBufferSize), total_(file_->size()) {}

LineReader::LineReader(std::string_view text) : window_(text), at_end_(true), total_(text.size()) {}

Result<std::optional<LineReader::Line>> LineReader::next() {
  std::size_t end = window_.find('\n');
  while (end == std::string_view::npos && !at_end_ && window_.size() <= kLongestLine) {
    if (Status status = refill(); !status.ok()) return status.error();
    end = window_.find('\n');
  }
  if (window_.empty()) return std::optional<Line>{};
  ++line_number_;
  Line line{window_.substr(0, end), end != std::string_view::npos};
  if (line.text.size() > kLongestLine) {
    return Error{ErrorCode::kMalformed, fmt::format("line {}: longer than {} bytes", line_number_, kLongestLine)};
  }
  const std::size_t length = line.text.size() + (line.terminated ? 1 : 0);
  window_.remove_prefix(length);
  consumed_ += length;
  if (line.text.ends_with('\r')) line.text.remove_suffix(1);
  return std::optional<Line>{line};
}

Status LineReader::refill() {
  if (!window_.empty()) std::memmove(buffer_.data(), window_.data(), window_.size());
  const std::size_t kept = window_.size();
  const std::size_t wanted = buffer_.size() - kept;
  const auto got = file_->read(std::as_writable_bytes(std::span(buffer_)).subspan(kept, wanted));
  if (!got.ok()) return got.error();
  at_end_ = got.value() < wanted;
  window_ = std::string_view(buffer_.data(), kept + got.value());
  return {};
}

}  // namespace deadheat
