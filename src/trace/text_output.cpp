// SPDX-License-Identifier: Apache-2.0
#include "trace/text_output.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace deadheat {

namespace {
constexpr std::size_t kFull = 64 * 1024;
}

Result<TextOutput> TextOutput::create(const std::string& path) {
  TextOutput output;
  output.path_ = path;
  output.file_ = path == "-" ? stdout : std::fopen(path.c_str(), "wb");
  if (output.file_ == nullptr) {
    return Error{ErrorCode::kIo, fmt::format("cannot create '{}': {}", path, std::strerror(errno))};
  }
  return output;
}

TextOutput::TextOutput(TextOutput&& other) noexcept
    : file_(std::exchange(other.file_, nullptr)),
      path_(std::move(other.path_)),
      buffer_(std::move(other.buffer_)),
      failure_(std::move(other.failure_)) {}

TextOutput::~TextOutput() {
  if (file_ == nullptr) return;
  // Nobody is left to hear of an error; close() is the way to learn of one.
  static_cast<void>(drain());
  release_file();
}

Status TextOutput::drain_if_full() {
  if (failure_) return *failure_;
  return file_ != nullptr && buffer_.size() >= kFull ? drain() : Status{};
}

Status TextOutput::flush() {
  if (Status status = drain(); !status.ok()) return status;
  if (file_ != nullptr && std::fflush(file_) != 0) return fail("write");
  return {};
}

Status TextOutput::close() {
  Status status = flush();
  if (file_ == nullptr || file_ == stdout) {
    file_ = nullptr;
    return status;
  }
  if (std::fclose(std::exchange(file_, nullptr)) != 0 && status.ok()) return fail("close");
  return status;
}

Status TextOutput::drain() {
  if (failure_) return *failure_;
  if (file_ == nullptr || buffer_.empty()) return {};
  const std::size_t written = std::fwrite(buffer_.data(), 1, buffer_.size(), file_);
  const bool complete = written == buffer_.size();
  buffer_.clear();
  return complete ? Status{} : fail("write");
}

Status TextOutput::fail(const char* what) {
  failure_ = Error{ErrorCode::kIo, fmt::format("cannot {} '{}': {}", what, path_, std::strerror(errno))};
  return *failure_;
}

void TextOutput::release_file() {
  if (file_ != stdout) std::fclose(file_);
  file_ = nullptr;
}

}  // namespace deadheat
