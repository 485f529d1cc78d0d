// SPDX-License-Identifier: Apache-2.0
// Run files (schedule/run_file.h) as the hunt uses them: made for a run, looked at while
// it runs and when it has ended. A file that a program wrote is not trusted: numbers are
// checked where they are used.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "schedule/run_file.h"

namespace deadheat {

// A run file that a program may be writing to.
class HuntRunFile {
 public:
  // Makes the file, in full size and empty, or replaces it. Errors: kIo.
  static Result<std::unique_ptr<HuntRunFile>> create(const std::string& path);

  HuntRunFile(const HuntRunFile&) = delete;
  HuntRunFile& operator=(const HuntRunFile&) = delete;
  ~HuntRunFile();

  // Whether the program has said that it is deadlocked. Cheap.
  [[nodiscard]] bool is_deadlocked() const;

  // As it is now. Errors: kMalformed (the program overwrote it).
  [[nodiscard]] Result<schedule::RunFileHeader> header() const;

 private:
  HuntRunFile(std::string path, schedule::RunFileHeader* header) : path_(std::move(path)), header_(header) {}

  std::string path_;
  schedule::RunFileHeader* header_;  // mapped; the program writes, we read
};

}  // namespace deadheat
