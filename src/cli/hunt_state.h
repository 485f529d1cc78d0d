// SPDX-License-Identifier: Apache-2.0
// The directory of a hunt: hunt.json, which says what was asked for and how each run
// went, and for each run that is kept run-N.schedule (its run file) and run-N.out (what
// the program printed). `deadheat hunt --again` lives on it.
//
// hunt.json is replaced as a whole, by renaming, so that it is whole whenever we are
// killed. In hunts with thousands of short runs it is not written after each of them:
// see HuntDirectory::save().
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/hunt_record.h"

namespace deadheat {

// What the user asked for, as far as a repetition needs it.
struct HuntSetup {
  std::vector<std::string> command;  // the program and its arguments
  std::string working_directory;
  std::vector<std::string> suppressions;  // absolute paths
  HuntStrategy strategy = HuntStrategy::kDrfinder;
  std::uint64_t seed = 1;
  std::uint32_t runs = 0;
  std::optional<std::uint32_t> depth;
  std::chrono::milliseconds time_limit{0};
};

// hunt.json, read again. Of a run, what a repetition needs.
struct HuntState {
  struct Run {
    std::uint32_t number = 0;
    std::string strategy;
    std::uint64_t seed = 0;
    std::vector<std::string> fingerprints;
  };
  HuntSetup setup;
  std::vector<Run> runs;
};

class HuntDirectory {
 public:
  // Makes the directory, or empties that of an earlier hunt, and keeps other hunts away
  // from it. Errors: kIo, kInvalid (it is something else, in use, or has a name that the
  // runtime cannot be told).
  static Result<std::unique_ptr<HuntDirectory>> create(const std::string& path, const HuntSetup& setup);

  HuntDirectory(const HuntDirectory&) = delete;
  HuntDirectory& operator=(const HuntDirectory&) = delete;
  ~HuntDirectory();

  [[nodiscard]] const std::string& path() const { return path_; }
  // Absolute; of a run.
  [[nodiscard]] std::string schedule_path(std::uint32_t run) const;
  [[nodiscard]] std::string output_path(std::uint32_t run) const;
  void remove_files_of(std::uint32_t run) const;

  // Adds a run that has ended. hunt.json is written at once if the run brought something
  // new, otherwise ten times a second at most, so that a hunt that is killed loses a
  // moment of runs that found nothing. Errors: kIo.
  Status save(const RunRecord& run);
  // Writes what is not written yet. Errors: kIo.
  Status save_all();

 private:
  using Clock = std::chrono::steady_clock;

  HuntDirectory(std::string path, int lock, const HuntSetup& setup);

  std::string path_;
  int lock_;             // the directory, open
  std::string heading_;  // of hunt.json, up to the runs
  std::string runs_;     // of hunt.json
  bool is_saved_ = false;
  Clock::time_point saved_at_;
};

// The directory of an earlier hunt. Errors: kIo, kMalformed, kUnsupported.
[[nodiscard]] Result<HuntState> read_hunt_state(const std::string& directory);

// A run as in hunt.json and in reports: one object, without newlines.
[[nodiscard]] std::string format_run_json(const RunRecord& run);

// In either, "exited", "crashed", "time-limit", "deadlock", "interrupted".
[[nodiscard]] std::string_view identifier_of(RunEnd end);

// The absolute path, for messages and for the runtime. Errors: kInvalid.
[[nodiscard]] Result<std::string> absolute_directory(const std::string& path);

}  // namespace deadheat
