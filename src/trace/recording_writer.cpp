// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "trace/recording_chunks.h"
#include "trace/recording_file.h"
#include "trace/recording_sums.h"

namespace deadheat {

namespace {

using namespace recording_chunks;

constexpr std::size_t kFlushAt = 256 * 1024;

bool is_ours(const std::string& name) {
  return name == kMainFile || name == "agent" || name.starts_with("log.") || name.starts_with("tail.");
}

Error io_error(std::string_view what, const std::string& path) {
  return {ErrorCode::kIo, fmt::format("cannot {} '{}': {}", what, path, std::generic_category().message(errno))};
}

}  // namespace

Result<std::unique_ptr<RecordingWriter>> RecordingWriter::create(const std::string& directory) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (mkdir(directory.c_str(), 0755) != 0) {
    if (errno != EEXIST) return io_error("make the directory", directory);
    std::vector<fs::path> old;
    bool has_recording = false;
    for (const fs::directory_entry& entry : fs::directory_iterator(directory, error)) {
      const std::string name = entry.path().filename().string();
      if (!is_ours(name)) {
        return Error{ErrorCode::kInvalid,
                     fmt::format("'{}' has other files in it ('{}'); name a new directory", directory, name)};
      }
      has_recording = has_recording || name == kMainFile;
      old.push_back(entry.path());
    }
    if (error) {
      return Error{ErrorCode::kIo, fmt::format("cannot use '{}' as a directory: {}", directory, error.message())};
    }
    if (!old.empty() && !has_recording) {
      return Error{ErrorCode::kInvalid, fmt::format("'{}' has files in it and no recording", directory)};
    }
    for (const fs::path& path : old) fs::remove(path, error);
  }
  const std::string path = directory + "/" + kMainFile;
  const int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor < 0) return io_error("write", path);
  std::unique_ptr<RecordingWriter> writer(new RecordingWriter(descriptor, path));
  FileHead head;
  std::memcpy(head.magic, kMagic, sizeof head.magic);
  writer->write_all(std::as_bytes(std::span(&head, 1)));
  if (!writer->status_.ok()) return writer->status_.error();
  return writer;
}

RecordingWriter::~RecordingWriter() { close(descriptor_); }

void RecordingWriter::write_all(std::span<const std::byte> bytes) {
  while (!bytes.empty() && status_.ok()) {
    const ssize_t size = write(descriptor_, bytes.data(), bytes.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) {
      status_ = io_error("write", path_);
      return;
    }
    bytes_ += static_cast<std::uint64_t>(size);
    bytes = bytes.subspan(static_cast<std::size_t>(size));
  }
}

void RecordingWriter::write_chunk(std::uint32_t type, std::span<const std::byte> payload) {
  const ChunkHead head{type, static_cast<std::uint32_t>(payload.size()), checksum_of(type, payload)};
  std::vector<std::byte> whole;
  Put put(whole);
  put.bytes(std::as_bytes(std::span(&head, 1)));
  put.bytes(payload);
  write_all(whole);
}

void RecordingWriter::flush() {
  if (samples_.empty()) return;
  write_chunk(kSamples, samples_);
  samples_.clear();
}

void RecordingWriter::add_head(const Recording& recording) {
  std::vector<std::byte> payload;
  Put put(payload);
  put.text(recording.program);
  put.number(recording.arguments.size());
  for (const std::string& argument : recording.arguments) put.text(argument);
  put.text(recording.backend);
  put.number(recording.process);
  write_chunk(kHead, payload);
}

void RecordingWriter::add_mapping(const CodeMapping& mapping) {
  std::vector<std::byte> payload;
  Put put(payload);
  for (const std::uint64_t number :
       {mapping.begin, mapping.end, mapping.file_offset, mapping.from_time, mapping.until_time}) {
    put.number(number);
  }
  put.text(mapping.path);
  put.number(mapping.build_id.size());
  put.bytes(mapping.build_id);
  write_chunk(kMapping, payload);
}

void RecordingWriter::add_name(std::uint32_t system_id, std::string_view name) {
  std::vector<std::byte> payload;
  Put put(payload);
  put.number(system_id);
  put.text(name);
  write_chunk(kName, payload);
}

void RecordingWriter::add_sample(std::uint32_t system_id, const RegisterSample& sample) {
  Put put(samples_);
  put.number(system_id);
  put.number(sample.time);
  put.number(sample.position.value_or(kNoPosition));
  for (const std::uint64_t value : sample.registers.general) put.number(value);
  put.number(sample.registers.ip);
  put.number(sample.registers.flags);
  put.number(sample.stack.size());
  put.bytes(sample.stack);
  if (samples_.size() >= kFlushAt) flush();
}

void RecordingWriter::add_path(std::uint32_t system_id, const PathPiece& piece) {
  // Pieces of pieces: a chunk has a limit.
  constexpr std::size_t kMost = kMostPayload / 8 - 8;
  for (std::size_t at = 0; at < piece.code.size(); at += kMost) {
    std::vector<std::byte> payload;
    Put put(payload);
    put.number(system_id);
    put.number(piece.first_position + at);
    put.number(piece.is_after_gap && at == 0 ? 1 : 0);
    const auto part = std::span(piece.code).subspan(at, std::min(kMost, piece.code.size() - at));
    put.bytes(std::as_bytes(part));
    write_chunk(kPath, payload);
  }
}

void RecordingWriter::add_clock(ClockPair pair) { write_numbers(kClock, {pair.ticks, pair.time}); }

void RecordingWriter::add_trace(std::uint32_t processor, std::uint64_t offset, std::span<const std::byte> bytes) {
  constexpr std::size_t kMost = kMostPayload - 64;
  for (std::size_t at = 0; at < bytes.size(); at += kMost) {
    std::vector<std::byte> payload;
    Put put(payload);
    put.number(processor);
    put.number(offset + at);
    put.bytes(bytes.subspan(at, std::min(kMost, bytes.size() - at)));
    write_chunk(kTrace, payload);
  }
}

void RecordingWriter::add_mark(std::uint32_t system_id, const PathMark& mark) {
  write_numbers(kMark, {system_id, mark.position, mark.from, mark.until});
}

void RecordingWriter::add_trace_range(const TraceRange& range) {
  write_numbers(kTraceRange, {range.processor, range.offset, range.size, range.system_id, range.time,
                              range.has_loss ? std::uint64_t{1} : std::uint64_t{0}});
}

void RecordingWriter::add_trace_timing(const TraceTiming& timing) {
  write_numbers(kTraceTiming,
                {timing.mtc_period, timing.nominal_frequency, timing.counter_ratio, timing.ratio_divisor});
}

void RecordingWriter::write_numbers(std::uint32_t type, std::initializer_list<std::uint64_t> numbers) {
  std::vector<std::byte> payload;
  Put put(payload);
  for (const std::uint64_t number : numbers) put.number(number);
  write_chunk(type, payload);
}

void RecordingWriter::add_sums() {
  std::vector<std::byte> payload;
  Put put(payload);
  for (const FileSum& sum : sums_of_logs(std::filesystem::path(path_).parent_path().string())) {
    put.text(sum.name);
    put.number(sum.size);
    put.number(sum.checksum);
  }
  if (!payload.empty()) write_chunk(kSums, payload);
}

Status RecordingWriter::finish(double seconds, std::uint64_t lost_samples, std::string_view incomplete) {
  flush();
  add_sums();
  std::vector<std::byte> payload;
  Put put(payload);
  put.number(static_cast<std::uint64_t>(seconds * 1e9));
  put.number(lost_samples);
  put.text(incomplete);
  write_chunk(kEnd, payload);
  return status_;
}

}  // namespace deadheat
