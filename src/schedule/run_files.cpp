// SPDX-License-Identifier: Apache-2.0
#include "schedule/run_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "schedule/relations.h"

namespace deadheat::schedule {
namespace {

Error malformed(std::string message) { return {ErrorCode::kMalformed, std::move(message)}; }

Error failed(const char* action, const std::string& path, int error) {
  return {ErrorCode::kIo, fmt::format("cannot {} run file '{}': {}", action, path, std::strerror(error))};
}

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  [[nodiscard]] int number() const { return number_; }

 private:
  int number_;
};

}  // namespace

Status check_run_header(const RunFileHeader& header) {
  if (header.magic != kRunFileMagic) return malformed("it is not a run file");
  if (header.version != kRunFileVersion) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("version {}, this program knows {}", header.version, kRunFileVersion)};
  }
  if (header.relation_count > kMostRelations) {
    return malformed(fmt::format("it says {} relations, at most {} fit", header.relation_count, kMostRelations));
  }
  if (header.acquisition_count > kAcquisitionPlaces) {
    return malformed(
        fmt::format("it says {} acquisitions, at most {} fit", header.acquisition_count, kAcquisitionPlaces));
  }
  if (header.deadlocked > kDeadlockThreads) {
    return malformed(fmt::format("it says {} deadlocked threads, at most {} fit", header.deadlocked, kDeadlockThreads));
  }
  for (std::uint32_t at = 0; at < header.deadlocked; ++at) {
    const std::uint32_t frames = header.cycle[at].frame_count;
    if (frames > kDeadlockFrames) {
      return malformed(fmt::format("it says {} frames of a thread, at most {} fit", frames, kDeadlockFrames));
    }
  }
  return {};
}

Status create_run_file(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (file.number() < 0) return failed("create", path, errno);
  const RunFileHeader header;
  const ssize_t written = ::write(file.number(), &header, sizeof header);
  if (written != static_cast<ssize_t>(sizeof header)) return failed("write", path, written < 0 ? errno : ENOSPC);
  if (::ftruncate(file.number(), sizeof(RunFile)) != 0) return failed("write", path, errno);
  return {};
}

Result<RunRecord> parse_run_file(std::span<const std::byte> bytes) {
  if (bytes.empty()) return malformed("it is empty");
  RunRecord record;
  if (bytes.size() < sizeof record.header) return malformed(fmt::format("it ends after {} bytes", bytes.size()));
  std::memcpy(&record.header, bytes.data(), sizeof record.header);
  const RunFileHeader& header = record.header;
  if (Status status = check_run_header(header); !status) return status.error();
  if (bytes.size() != sizeof(RunFile)) {
    return malformed(fmt::format("it has {} bytes instead of {}", bytes.size(), sizeof(RunFile)));
  }

  record.relations.resize(kRelationPlaces);
  std::memcpy(record.relations.data(), bytes.data() + offsetof(RunFile, relations), sizeof(RunFile::relations));
  std::erase(record.relations, 0);
  // A run that is killed between the two writes has one more than it says.
  const std::size_t surplus = record.relations.size() - header.relation_count;
  if (surplus > 1) {
    return malformed(fmt::format("it says {} relations and has {}", header.relation_count, record.relations.size()));
  }
  record.acquisitions.resize(header.acquisition_count);
  if (!record.acquisitions.empty()) {
    std::memcpy(record.acquisitions.data(), bytes.data() + offsetof(RunFile, acquisitions),
                record.acquisitions.size() * sizeof(Acquisition));
  }
  return record;
}

Result<RunRecord> read_run_file(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.number() < 0) return failed("open", path, errno);
  // One byte more than a good file has, to see that there is no more.
  std::vector<std::byte> bytes(sizeof(RunFile) + 1);
  std::size_t size = 0;
  while (size < bytes.size()) {
    const ssize_t count = ::read(file.number(), bytes.data() + size, bytes.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failed("read", path, errno);
    if (count == 0) break;
    size += static_cast<std::size_t>(count);
  }
  auto record = parse_run_file(std::span(bytes).first(size));
  if (record.ok()) return record;
  return Error{record.error().code, fmt::format("cannot read run file '{}': {}", path, record.error().message)};
}

Status remove_run_file(const std::string& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return failed("remove", path, errno);
  return {};
}

}  // namespace deadheat::schedule
