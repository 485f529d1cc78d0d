// SPDX-License-Identifier: Apache-2.0
// Which format a file has, by its content: the magic of the binary format; else
// RAPID's STD when the first line that says something looks like
// `thread|op(object)|location`; else our text format, whose reader explains
// what is wrong with any other file.
//
// Looking at the beginning must not consume it, so only what can be read twice
// is looked at. A pipe is taken to be text.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "trace/binary_reader.h"
#include "trace/binary_writer.h"
#include "trace/chunk_header.h"
#include "trace/event_sink.h"
#include "trace/event_source.h"
#include "trace/std_format.h"
#include "trace/text_format.h"

namespace deadheat {
namespace {

std::string_view without_blanks(std::string_view line) {
  const std::size_t first = line.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return line.substr(first, line.find_last_not_of(" \t\r") - first + 1);
}

bool looks_like_std_event(std::string_view line) {
  const std::size_t first_bar = line.find('|');
  if (first_bar == std::string_view::npos || first_bar == 0) return false;
  const std::size_t second_bar = line.find('|', first_bar + 1);
  if (second_bar == std::string_view::npos) return false;
  const std::string_view operation = line.substr(first_bar + 1, second_bar - first_bar - 1);
  return operation.find('(') != std::string_view::npos && operation.ends_with(')');
}

TraceFormat format_of(std::string_view beginning) {
  if (has_binary_magic(std::as_bytes(std::span{beginning.data(), beginning.size()}))) return TraceFormat::kBinary;
  while (!beginning.empty()) {
    const std::size_t length = std::min(beginning.find('\n'), beginning.size());
    const std::string_view line = without_blanks(beginning.substr(0, length));
    if (!line.empty() && !line.starts_with('#')) {
      return looks_like_std_event(line) ? TraceFormat::kStd : TraceFormat::kText;
    }
    beginning.remove_prefix(std::min(length + 1, beginning.size()));
  }
  return TraceFormat::kText;
}

Error cannot_open(const std::string& path, const char* reason) {
  return {ErrorCode::kIo, fmt::format("cannot open trace '{}': {}", path, reason)};
}

// Closes what it opened; the standard input stays open.
class Descriptor {
 public:
  explicit Descriptor(const std::string& path)
      : number_(path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ > STDIN_FILENO) ::close(number_);
  }
  [[nodiscard]] int number() const { return number_; }

 private:
  int number_;
};

// The format is decided by the first 64 KiB: a longer comment at the head of an
// STD file would hide what it is.
Result<TraceFormat> recognise(const std::string& path) {
  const Descriptor file{path};
  if (file.number() < 0) return cannot_open(path, std::strerror(errno));
  struct stat status{};
  if (::fstat(file.number(), &status) != 0) return cannot_open(path, std::strerror(errno));
  if (S_ISDIR(status.st_mode)) return cannot_open(path, "it is a directory");
  if (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode) || path == "-") {
    if (!S_ISREG(status.st_mode)) return TraceFormat::kText;
  } else if (!S_ISREG(status.st_mode)) {
    return cannot_open(path, "it is neither a file nor a pipe");
  }
  std::array<char, 1U << 16U> beginning;
  const ssize_t size = ::pread(file.number(), beginning.data(), beginning.size(), 0);
  if (size < 0) return cannot_open(path, std::strerror(errno));
  if (size == 0) return Error{ErrorCode::kMalformed, fmt::format("cannot open trace '{}': it is empty", path)};
  return format_of({beginning.data(), static_cast<std::size_t>(size)});
}

}  // namespace

Result<std::unique_ptr<EventSource>> open_trace(const std::string& path) {
  const Result<TraceFormat> format = recognise(path);
  if (!format) return format.error();
  switch (format.value()) {
    case TraceFormat::kBinary:
      return open_binary_trace(path);
    case TraceFormat::kStd:
      return open_std_trace(path);
    case TraceFormat::kText:
      break;
  }
  return open_text_trace(path);
}

Result<std::unique_ptr<EventSink>> create_trace(const std::string& path, TraceFormat format) {
  switch (format) {
    case TraceFormat::kBinary:
      return create_binary_trace(path);
    case TraceFormat::kStd:
      return create_std_trace(path);
    case TraceFormat::kText:
      break;
  }
  return create_text_trace(path);
}

}  // namespace deadheat
