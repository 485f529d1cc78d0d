// SPDX-License-Identifier: Apache-2.0
#include "cli/trace_output.h"

#include <fmt/format.h>

#include <csignal>
#include <filesystem>
#include <system_error>
#include <utility>

namespace deadheat {

const Choices<TraceFormat>& trace_format_choices() {
  static const Choices<TraceFormat> kChoices{
      {"binary", TraceFormat::kBinary}, {"text", TraceFormat::kText}, {"std", TraceFormat::kStd}};
  return kChoices;
}

Result<TraceFormat> format_for(const std::string& path, std::optional<TraceFormat> chosen) {
  if (chosen) return *chosen;
  if (path == "-") return TraceFormat::kText;
  const std::string ending = std::filesystem::path(path).extension().string();
  if (ending == ".dht") return TraceFormat::kBinary;
  if (ending == ".trace" || ending == ".txt") return TraceFormat::kText;
  if (ending == ".std") return TraceFormat::kStd;
  return Error{ErrorCode::kInvalid,
               fmt::format("cannot tell the format from the name '{}'; add --to binary, --to text or --to std", path)};
}

Result<TraceOutput> TraceOutput::create(const std::string& path, TraceFormat format) {
  // A stream to a reader that went away ends here and now, as for any filter.
  if (path == "-") std::signal(SIGPIPE, SIG_DFL);
  auto sink = create_trace(path, format);
  if (!sink.ok()) return sink.error();
  return TraceOutput(path, std::move(sink).value());
}

TraceOutput::~TraceOutput() {
  if (sink_ == nullptr) return;
  sink_.reset();
  // Devices and pipes stay where they are.
  std::error_code ignored;
  if (path_ != "-" && std::filesystem::is_regular_file(path_, ignored)) std::filesystem::remove(path_, ignored);
}

Status TraceOutput::close() {
  Status status = sink_->close();
  if (status.ok()) sink_.reset();
  return status;
}

}  // namespace deadheat
