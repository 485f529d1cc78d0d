// SPDX-License-Identifier: Apache-2.0
#include "trace/trace_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace deadheat {

namespace {

constexpr int kNoDescriptor = -1;

// The reason why such a file cannot be a trace, whatever is in it; null: it can be one.
const char* reason_against(const struct stat& status, bool is_standard_input) {
  if (S_ISDIR(status.st_mode)) return "it is a directory";
  if (S_ISREG(status.st_mode) || S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode)) return nullptr;
  return is_standard_input ? nullptr : "it is neither a file nor a pipe";
}

}  // namespace

TraceFile::TraceFile(TraceFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, kNoDescriptor)),
      path_(std::move(other.path_)),
      size_(other.size_),
      done_(other.done_),
      beginning_(std::move(other.beginning_)) {}

TraceFile::~TraceFile() {
  if (descriptor_ != kNoDescriptor) ::close(descriptor_);
}

Result<TraceFile> TraceFile::open(const std::string& path) {
  const auto failed = [&](const char* reason) {
    return Error{ErrorCode::kIo, fmt::format("cannot open trace '{}': {}", path, reason)};
  };
  const bool is_standard_input = path == "-";
  struct stat status{};
  // Before it is opened: to open a device can do something.
  if ((is_standard_input ? ::fstat(STDIN_FILENO, &status) : ::stat(path.c_str(), &status)) != 0) {
    return failed(std::strerror(errno));
  }
  if (const char* const reason = reason_against(status, is_standard_input)) return failed(reason);
  const int descriptor =
      is_standard_input ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return failed(std::strerror(errno));
  TraceFile file(descriptor, path);
  if (S_ISREG(status.st_mode) && status.st_size > 0) file.size_ = static_cast<std::uint64_t>(status.st_size);
  return file;
}

Result<std::span<const std::byte>> TraceFile::beginning() {
  if (beginning_.empty()) {
    beginning_.resize(kBeginning);
    const auto got = read_on(beginning_);
    if (!got.ok()) return got.error();
    beginning_.resize(got.value());
  }
  return std::span<const std::byte>(beginning_);
}

Result<std::size_t> TraceFile::read(std::span<std::byte> to) {
  const std::size_t kept = std::min(beginning_.size(), to.size());
  std::copy_n(beginning_.begin(), kept, to.begin());
  beginning_.erase(beginning_.begin(), beginning_.begin() + static_cast<std::ptrdiff_t>(kept));
  if (kept == to.size()) return kept;
  const auto got = read_on(to.subspan(kept));
  if (!got.ok()) return got.error();
  return kept + got.value();
}

Result<std::size_t> TraceFile::read_on(std::span<std::byte> to) {
  std::size_t filled = 0;
  while (filled < to.size()) {
    const ssize_t count = ::read(descriptor_, to.data() + filled, to.size() - filled);
    if (count == 0) break;
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      return Error{ErrorCode::kIo,
                   fmt::format("cannot read trace '{}' at byte {}: {}", path_, done_ + filled, std::strerror(errno))};
    }
    filled += static_cast<std::size_t>(count);
  }
  done_ += filled;
  return filled;
}

}  // namespace deadheat
