// SPDX-License-Identifier: Apache-2.0
#include "cli/hunt_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "cli/messages.h"
#include "schedule/run_files.h"

namespace deadheat {

namespace {

using schedule::RunFileHeader;

Error run_file_failure(const std::string& path, std::string_view what) {
  return {ErrorCode::kIo, fmt::format("cannot {} run file '{}': {}", what, path, system_message(errno))};
}

}  // namespace

Result<std::unique_ptr<HuntRunFile>> HuntRunFile::create(const std::string& path) {
  if (Status removed = schedule::remove_run_file(path); !removed.ok()) return removed.error();
  if (Status made = schedule::create_run_file(path); !made.ok()) return made.error();
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return run_file_failure(path, "open");
  void* const mapped = mmap(nullptr, sizeof(RunFileHeader), PROT_READ, MAP_SHARED, descriptor, 0);
  const int error = errno;
  ::close(descriptor);
  errno = error;
  if (mapped == MAP_FAILED) return run_file_failure(path, "map");
  return std::unique_ptr<HuntRunFile>(new HuntRunFile(path, static_cast<RunFileHeader*>(mapped)));
}

HuntRunFile::~HuntRunFile() { munmap(header_, sizeof(RunFileHeader)); }

bool HuntRunFile::is_deadlocked() const {
  // Pairs with the store of the runtime, which comes after the cycle.
  return std::atomic_ref<std::uint32_t>(header_->deadlocked).load(std::memory_order_acquire) != 0;
}

Result<RunFileHeader> HuntRunFile::header() const {
  RunFileHeader copy = *header_;
  if (Status checked = schedule::check_run_header(copy); !checked.ok()) {
    return Error{checked.error().code, fmt::format("run file '{}' is damaged: {}", path_, checked.error().message)};
  }
  return copy;
}

}  // namespace deadheat
