// SPDX-License-Identifier: Apache-2.0
// Output: where a report goes, standard output or a file.
//
// The file is opened before the work begins, so that a bad path is known at
// once and not after an hour of analysis; its old content is kept until there
// is something to replace it with. Every error of the system is reported, down
// to the close, because a full disk shows itself there at the latest. Only a
// reader that went away (`| head`) is no error: it has seen enough.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace deadheat {

class Output {
 public:
  // Nothing or "-" is standard output. Errors: kIo.
  static Result<Output> open(const std::optional<std::string>& path);

  Output(Output&& other) noexcept;
  Output(const Output&) = delete;
  Output& operator=(Output&&) = delete;
  Output& operator=(const Output&) = delete;
  ~Output();

  [[nodiscard]] int descriptor() const { return descriptor_; }
  [[nodiscard]] bool is_file() const;
  // Whether this is the same file as the one at the path.
  [[nodiscard]] bool is_same_file(const std::string& path) const;

  // Writes the whole report and closes. Once. Errors: kIo.
  Status write(std::string_view text);

 private:
  Output(int descriptor, std::string name);
  [[nodiscard]] Error failure(std::string_view what) const;

  int descriptor_;
  std::string name_;
};

}  // namespace deadheat
