// SPDX-License-Identifier: Apache-2.0
// TraceFile: an opened trace whose beginning can be looked at before it is read.
//
// The kind of a file shows in its first bytes, and a pipe can be read only once. So a trace is opened
// once, whoever looks at its beginning keeps the bytes here, and the reader of the format that was
// recognised gets them first. Nobody opens the path a second time: of a pipe, the bytes that the
// first reader took would be gone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace deadheat {

class TraceFile {
 public:
  // A longer comment at the head of a file would hide what it is.
  static constexpr std::size_t kBeginning = 64 * 1024;

  // "-" is the standard input. Errors: kIo (also for what is neither a file nor a pipe).
  static Result<TraceFile> open(const std::string& path);

  TraceFile(TraceFile&& other) noexcept;
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(TraceFile&&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;
  ~TraceFile();

  // The first bytes, at most kBeginning, fewer only if the file has no more. Before the first read(),
  // which gives them again. Errors: kIo.
  Result<std::span<const std::byte>> beginning();

  // Fills the span as far as there are bytes before the end; yields their number. Errors: kIo.
  Result<std::size_t> read(std::span<std::byte> to);

  [[nodiscard]] const std::string& path() const { return path_; }
  // In bytes; 0 of a pipe.
  [[nodiscard]] std::uint64_t size() const { return size_; }

 private:
  TraceFile(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}
  Result<std::size_t> read_on(std::span<std::byte> to);

  int descriptor_;
  std::string path_;
  std::uint64_t size_ = 0;
  std::uint64_t done_ = 0;            // bytes that the system gave us
  std::vector<std::byte> beginning_;  // looked at and not read yet
};

}  // namespace deadheat
