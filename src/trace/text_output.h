// SPDX-License-Identifier: Apache-2.0
// TextOutput: a buffered text file for the writers of line formats. The first
// failure sticks: every later call reports it.
#pragma once

#include <cstdio>
#include <optional>
#include <string>

#include "base/result.h"

namespace deadheat {

class TextOutput {
 public:
  // Collects in memory.
  TextOutput() = default;
  // Creates or overwrites the file; "-" is the standard output. Errors: kIo.
  static Result<TextOutput> create(const std::string& path);

  TextOutput(TextOutput&& other) noexcept;
  TextOutput& operator=(TextOutput&&) = delete;
  TextOutput(const TextOutput&) = delete;
  TextOutput& operator=(const TextOutput&) = delete;
  ~TextOutput();

  // What is to be written next; append to it, then call drain_if_full(). Without
  // a file, the whole text.
  [[nodiscard]] std::string& buffer() { return buffer_; }

  Status drain_if_full();
  Status flush();
  // Flushes and closes. Nothing may be appended afterwards.
  Status close();

 private:
  Status drain();
  Status fail(const char* what);
  void release_file();

  std::FILE* file_ = nullptr;
  std::string path_;
  std::string buffer_;
  std::optional<Error> failure_;
};

}  // namespace deadheat
