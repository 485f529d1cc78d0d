// SPDX-License-Identifier: Apache-2.0
#include "cli/output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "cli/messages.h"

namespace deadheat {

namespace {

constexpr int kNoDescriptor = -1;

}  // namespace

Output::Output(int descriptor, std::string name) : descriptor_(descriptor), name_(std::move(name)) {}

Output::Output(Output&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, kNoDescriptor)), name_(std::move(other.name_)) {}

Output::~Output() {
  if (is_file() && descriptor_ != kNoDescriptor) ::close(descriptor_);
}

bool Output::is_file() const { return descriptor_ != STDOUT_FILENO; }

Result<Output> Output::open(const std::optional<std::string>& path) {
  if (!path || *path == "-") return Output(STDOUT_FILENO, "standard output");
  const int descriptor = ::open(path->c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0) {
    return Error{ErrorCode::kIo, fmt::format("cannot write '{}': {}", *path, system_message(errno))};
  }
  return Output(descriptor, fmt::format("'{}'", *path));
}

bool Output::is_same_file(const std::string& path) const {
  struct stat ours{};
  struct stat theirs{};
  return is_file() && fstat(descriptor_, &ours) == 0 && stat(path.c_str(), &theirs) == 0 &&
         ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino;
}

Error Output::failure(std::string_view what) const {
  return Error{ErrorCode::kIo, fmt::format("cannot {} {}: {}", what, name_, system_message(errno))};
}

Status Output::write(std::string_view text) {
  struct stat status{};
  if (is_file() && fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode) && ftruncate(descriptor_, 0) != 0) {
    return failure("empty");
  }
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor_, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EPIPE) break;
    if (written < 0) return failure("write");
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  if (is_file() && ::close(std::exchange(descriptor_, kNoDescriptor)) != 0) return failure("finish");
  return {};
}

}  // namespace deadheat
