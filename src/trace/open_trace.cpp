// SPDX-License-Identifier: Apache-2.0
// Which format a file has, by its content: the magic of the binary format; else
// RAPID's STD when the first line that says something looks like
// `thread|op(object)|location`; else our text format, whose reader explains
// what is wrong with any other file.
//
// trace_file.h says how a pipe is looked at without losing what was read.
#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include "trace/binary_reader.h"
#include "trace/binary_writer.h"
#include "trace/chunk_header.h"
#include "trace/event_sink.h"
#include "trace/event_source.h"
#include "trace/std_format.h"
#include "trace/text_format.h"
#include "trace/trace_file.h"

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

TraceFormat format_of(std::span<const std::byte> bytes) {
  if (has_binary_magic(bytes)) return TraceFormat::kBinary;
  std::string_view beginning(reinterpret_cast<const char*>(bytes.data()), bytes.size());
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

}  // namespace

Result<std::unique_ptr<EventSource>> open_trace(const std::string& path) {
  auto opened = TraceFile::open(path);
  if (!opened) return opened.error();
  TraceFile file = std::move(opened).value();
  const auto beginning = file.beginning();
  if (!beginning) return beginning.error();
  if (beginning.value().empty()) {
    return Error{ErrorCode::kMalformed, fmt::format("cannot open trace '{}': it is empty", path)};
  }
  switch (format_of(beginning.value())) {
    case TraceFormat::kBinary:
      return open_binary_trace(std::move(file));
    case TraceFormat::kStd:
      return read_std_trace(std::move(file));
    case TraceFormat::kText:
      break;
  }
  return read_text_trace(std::move(file));
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
