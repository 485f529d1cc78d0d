// SPDX-License-Identifier: Apache-2.0
#include "cli/hunt_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <utility>

#include "cli/messages.h"
#include "schedule/run_files.h"

namespace deadheat {

namespace {

using schedule::RunFile;
using schedule::RunFileHeader;

Error run_file_failure(const std::string& path, std::string_view what) {
  return {ErrorCode::kIo, fmt::format("cannot {} run file '{}': {}", what, path, system_message(errno))};
}

}  // namespace

Result<std::unique_ptr<HuntRunFile>> HuntRunFile::create(const std::string& path) {
  if (Status removed = schedule::remove_run_file(path); !removed.ok()) return removed.error();
  if (Status made = schedule::create_run_file(path); !made.ok()) return made.error();
  const int descriptor = memfd_create(std::filesystem::path(path).filename().c_str(), MFD_CLOEXEC);
  if (descriptor < 0) return run_file_failure(path, "make memory for");
  const RunFileHeader empty{};
  void* mapped = MAP_FAILED;
  if (ftruncate(descriptor, sizeof(RunFile)) == 0 &&
      pwrite(descriptor, &empty, sizeof(empty), 0) == static_cast<ssize_t>(sizeof(empty))) {
    mapped = mmap(nullptr, sizeof(RunFile), PROT_READ, MAP_SHARED, descriptor, 0);
  }
  if (mapped == MAP_FAILED) {
    Error error = run_file_failure(path, "make memory for");
    ::close(descriptor);
    return error;
  }
  return std::unique_ptr<HuntRunFile>(new HuntRunFile(path, descriptor, static_cast<RunFile*>(mapped)));
}

HuntRunFile::~HuntRunFile() {
  munmap(run_, sizeof(RunFile));
  ::close(descriptor_);
}

std::string HuntRunFile::name() const { return fmt::format("/proc/{}/fd/{}", getpid(), descriptor_); }

Status HuntRunFile::save() const {
  const int descriptor = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) return run_file_failure(path_, "open");
  const std::size_t count = std::min(run_->header.acquisition_count, schedule::kAcquisitionPlaces);
  const std::size_t used = offsetof(RunFile, acquisitions) + count * sizeof(schedule::Acquisition);
  const auto* const bytes = reinterpret_cast<const char*>(run_);
  std::size_t written = 0;
  while (written < used) {
    const ssize_t size = pwrite(descriptor, bytes + written, used - written, static_cast<off_t>(written));
    if (size <= 0) break;
    written += static_cast<std::size_t>(size);
  }
  const int error = errno;
  ::close(descriptor);
  errno = error;
  if (written < used) return run_file_failure(path_, "write");
  return {};
}

bool HuntRunFile::is_deadlocked() const {
  // Pairs with the store of the runtime, which comes after the cycle.
  return std::atomic_ref<std::uint32_t>(run_->header.deadlocked).load(std::memory_order_acquire) != 0;
}

Result<RunFileHeader> HuntRunFile::header() const {
  RunFileHeader copy = run_->header;
  if (Status checked = schedule::check_run_header(copy); !checked.ok()) {
    return Error{checked.error().code, fmt::format("run file '{}' is damaged: {}", path_, checked.error().message)};
  }
  return copy;
}

}  // namespace deadheat
