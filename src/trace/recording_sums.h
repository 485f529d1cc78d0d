// SPDX-License-Identifier: Apache-2.0
// Checksums of the files that the agent of `deadheat record` leaves. The agent has no time for them; the recorder
// computes them when the program has ended and puts them into the main file, whose chunks have their own. A recording
// whose recorder was killed has none.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "trace/recording_file.h"

namespace deadheat {

struct FileSum {
  std::string name;
  std::uint64_t size = 0;
  std::uint64_t checksum = 0;
};

// The sums of `agent`, `log.N` and `tail.N` as they are, as far as they can be read.
[[nodiscard]] std::vector<FileSum> sums_of_logs(const std::string& directory);

// kMalformed: a file is missing or is not what it was.
[[nodiscard]] Status check_sums(const std::vector<FileSum>& sums, const RecordingBytes& bytes);

}  // namespace deadheat
