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

// A run file that a program may be writing to. It is in memory until the run is over: a
// store to a file can wait for the disk, with a lock of the program held, and that changes
// the order of threads (4 of 800 plain runs showed races that were to be hidden; none in
// memory).
class HuntRunFile {
 public:
  // Makes the file, in full size and empty, or replaces it. Errors: kIo.
  static Result<std::unique_ptr<HuntRunFile>> create(const std::string& path);

  HuntRunFile(const HuntRunFile&) = delete;
  HuntRunFile& operator=(const HuntRunFile&) = delete;
  ~HuntRunFile();

  // What the program opens.
  [[nodiscard]] std::string name() const;
  // Writes what the program has written to the file. Errors: kIo.
  [[nodiscard]] Status save() const;

  // Whether the program has said that it is deadlocked. Cheap.
  [[nodiscard]] bool is_deadlocked() const;

  // As it is now. Errors: kMalformed (the program overwrote it).
  [[nodiscard]] Result<schedule::RunFileHeader> header() const;

 private:
  HuntRunFile(std::string path, int descriptor, schedule::RunFile* run)
      : path_(std::move(path)), descriptor_(descriptor), run_(run) {}

  std::string path_;
  int descriptor_;
  schedule::RunFile* run_;  // mapped; the program writes, we read
};

}  // namespace deadheat
