// SPDX-License-Identifier: Apache-2.0
// A recording on disk: a directory. RECORDING_FORMAT.md describes it.
//
// The writer appends chunks as they come, so that a recorder that dies leaves all but its last;
// the reader takes what is whole and says in Recording::incomplete what is not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "trace/recording.h"

namespace deadheat {

inline constexpr std::uint32_t kRecordingVersion = 1;

class RecordingWriter {
 public:
  // Makes the directory, or empties one that has a recording in it. kIo; kInvalid: there is
  // something else in it.
  [[nodiscard]] static Result<std::unique_ptr<RecordingWriter>> create(const std::string& directory);

  RecordingWriter(const RecordingWriter&) = delete;
  RecordingWriter& operator=(const RecordingWriter&) = delete;
  ~RecordingWriter();

  // Program, arguments, backend, process.
  void add_head(const Recording& recording);
  void add_mapping(const CodeMapping& mapping);
  void add_name(std::uint32_t system_id, std::string_view name);
  void add_sample(std::uint32_t system_id, const RegisterSample& sample);
  void add_path(std::uint32_t system_id, const PathPiece& piece);
  void add_mark(std::uint32_t system_id, const PathMark& mark);
  void add_clock(ClockPair pair);
  // Bytes of a processor's trace, as it wrote them.
  void add_trace(std::uint32_t processor, std::uint64_t offset, std::span<const std::byte> bytes);
  void add_trace_range(const TraceRange& range);
  void add_trace_timing(const TraceTiming& timing);
  // What is kept in memory goes to the file. The first failure stays: nothing more is written.
  void flush();
  // The last chunk. kIo: something could not be written, now or before.
  [[nodiscard]] Status finish(double seconds, std::uint64_t lost_samples, std::string_view incomplete);

  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] const Status& status() const { return status_; }

 private:
  RecordingWriter(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}
  void add_sums();  // of what the agent has left
  void write_chunk(std::uint32_t type, std::span<const std::byte> payload);
  void write_numbers(std::uint32_t type, std::initializer_list<std::uint64_t> numbers);
  void write_all(std::span<const std::byte> bytes);

  int descriptor_;
  std::string path_;
  std::vector<std::byte> samples_;  // not written yet
  std::uint64_t bytes_ = 0;
  Status status_;
};

// A directory with a recording in it, or its file.
[[nodiscard]] bool is_recording(const std::string& path);

// kIo: not there. kMalformed: no recording, or damaged in its beginning. kUnsupported: of another version.
[[nodiscard]] Result<Recording> read_recording(const std::string& directory);

// From ticks of the processor's counter to nanoseconds of CLOCK_MONOTONIC_RAW. kMalformed: too few pairs, or none that
// make sense.
using TickConversion = std::function<std::uint64_t(std::uint64_t ticks)>;
[[nodiscard]] Result<TickConversion> tick_conversion(const std::vector<ClockPair>& clocks);

// The parts of read_recording that parse bytes, for tests.
struct RecordingBytes {
  std::span<const std::byte> main;   // recording.dhr
  std::span<const std::byte> agent;  // empty: there is none
  struct Log {
    std::string name;
    std::uint32_t thread = 0;
    std::span<const std::byte> log;
    std::span<const std::byte> tail;
  };
  std::vector<Log> logs;
};
[[nodiscard]] Result<Recording> parse_recording(const RecordingBytes& bytes);

}  // namespace deadheat
