// SPDX-License-Identifier: Apache-2.0
#include "trace/text_lines.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

namespace deadheat {

namespace {
// Twice the longest line: after moving the rest of the window to the front there
// is always room for the remainder of a line that is not too long.
constexpr std::size_t kBufferSize = 2 * LineReader::kLongestLine;
}  // namespace

Result<LineReader> LineReader::open(const std::string& path) {
  LineReader reader;
  reader.path_ = path;
  reader.file_.reset(path == "-" ? stdin : std::fopen(path.c_str(), "rb"));
  struct stat status{};
  if (reader.file_ == nullptr || ::fstat(::fileno(reader.file_.get()), &status) != 0) {
    return Error{ErrorCode::kIo, fmt::format("cannot open trace '{}': {}", path, std::strerror(errno))};
  }
  reader.total_ = status.st_size > 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
  reader.buffer_.resize(kBufferSize);
  return reader;
}

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
  const std::size_t got = std::fread(buffer_.data() + kept, 1, wanted, file_.get());
  if (got < wanted) {
    if (std::ferror(file_.get()) != 0) {
      return Error{ErrorCode::kIo, fmt::format("cannot read trace '{}': {}", path_, std::strerror(errno))};
    }
    at_end_ = true;
  }
  window_ = std::string_view(buffer_.data(), kept + got);
  return {};
}

}  // namespace deadheat
