// SPDX-License-Identifier: Apache-2.0
// Output: where a report goes, standard output or a file.
//
// The path is tried before the work begins, so that a bad one is known at once
// and not after an hour of analysis; old content is kept until there is something
// to replace it with, and a new file is made no earlier. Every error of the system
// is reported, down to the close, because a full disk shows itself there at the
// latest; what was written until then is removed, because half a report misleads.
// Only a reader that went away (`| head`) is no error: it has seen enough.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace deadheat {

// A file that is written as things happen, and removed at the end if nothing happened.
class LogFile {
 public:
  // Emptied, or made. Errors: kIo.
  static Result<std::unique_ptr<LogFile>> open(const std::string& path);

  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;
  ~LogFile();

  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  LogFile(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}

  int descriptor_;
  std::string path_;
};

class Output {
 public:
  // Nothing or "-" is standard output. Errors: kIo.
  static Result<Output> open(const std::optional<std::string>& path);

  Output(Output&& other) noexcept;
  Output(const Output&) = delete;
  Output& operator=(Output&&) = delete;
  Output& operator=(const Output&) = delete;
  ~Output();

  // To ask whether it is a terminal; -1 of a file that is not there yet.
  [[nodiscard]] int descriptor() const { return descriptor_; }
  [[nodiscard]] bool is_file() const;
  // Whether this is the same file as the one at the path.
  [[nodiscard]] bool is_same_file(const std::string& path) const;

  // Writes the whole report and closes. Once. Errors: kIo.
  Status write(std::string_view text);

 private:
  Output(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}
  [[nodiscard]] Error failure(std::string_view what);
  [[nodiscard]] Status write_all(std::string_view text);

  int descriptor_;
  std::string path_;  // absolute; empty: standard output
};

}  // namespace deadheat
