// SPDX-License-Identifier: Apache-2.0
// Run files (run_file.h) from outside: `deadheat hunt` makes one for each run, and reads
// what the run left. The run may have crashed at any moment, or scribbled over its memory,
// so nothing in a file is believed before it is checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "schedule/run_file.h"

namespace deadheat::schedule {

// The parts of a run file that are in use.
struct RunRecord {
  RunFileHeader header;
  std::vector<std::uint64_t> relations;  // in no particular order
  std::vector<Acquisition> acquisitions;
};

// A new file of full size, nearly all of it a hole. kIo if it cannot be made, or if
// something is there already.
[[nodiscard]] Status create_run_file(const std::string& path);

// kMalformed: not the header of a run file, or numbers that do not fit. kUnsupported: of
// another version.
[[nodiscard]] Status check_run_header(const RunFileHeader& header);

// kMalformed: too short or too long, not a run file, or numbers that do not fit.
// kUnsupported: of another version.
[[nodiscard]] Result<RunRecord> parse_run_file(std::span<const std::byte> bytes);

// As parse_run_file(); kIo if it cannot be read.
[[nodiscard]] Result<RunRecord> read_run_file(const std::string& path);

// kIo if it cannot be removed. One that is not there is removed.
[[nodiscard]] Status remove_run_file(const std::string& path);

}  // namespace deadheat::schedule
