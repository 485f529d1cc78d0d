// SPDX-License-Identifier: Apache-2.0
#include "cli/output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "cli/messages.h"

namespace deadheat {

namespace {

constexpr int kNoDescriptor = -1;
constexpr mode_t kReadableByAll = 0666;  // as far as the umask permits

Error cannot_write(std::string_view path, int error) {
  return {ErrorCode::kIo, fmt::format("cannot write '{}': {}", path, system_message(error))};
}

// Where a file is, whatever directory we go to later; what a link leads to.
std::string absolute_path(const std::string& path) {
  std::error_code error;
  const auto real = std::filesystem::canonical(path, error);
  if (!error) return real.string();
  const auto absolute = std::filesystem::absolute(path, error);
  return error ? path : absolute.string();
}

bool is_regular(int descriptor) {
  struct stat status{};
  return fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
}

}  // namespace

Output::Output(Output&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, kNoDescriptor)), path_(std::move(other.path_)) {}

Output::~Output() {
  if (is_file() && descriptor_ != kNoDescriptor) ::close(descriptor_);
}

bool Output::is_file() const { return !path_.empty(); }

Result<Output> Output::open(const std::optional<std::string>& path) {
  if (!path || *path == "-") return Output(STDOUT_FILENO, "");
  const int descriptor = ::open(path->c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor >= 0) return Output(descriptor, absolute_path(*path));
  if (errno != ENOENT || path->empty()) return cannot_write(*path, errno);
  // To make it is the only way to know that it can be made.
  const int made = ::open(path->c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, kReadableByAll);
  if (made < 0) return cannot_write(*path, errno);
  std::string absolute = absolute_path(*path);
  ::close(made);
  ::unlink(absolute.c_str());
  return Output(kNoDescriptor, std::move(absolute));
}

bool Output::is_same_file(const std::string& path) const {
  struct stat ours{};
  struct stat theirs{};
  return is_file() && fstat(descriptor_, &ours) == 0 && stat(path.c_str(), &theirs) == 0 &&
         ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino;
}

// The content that a file has by now is no report.
Error Output::failure(std::string_view what) {
  const int error = errno;
  const std::string name = is_file() ? fmt::format("'{}'", path_) : "standard output";
  if (is_file() && descriptor_ != kNoDescriptor && is_regular(descriptor_)) ::unlink(path_.c_str());
  return {ErrorCode::kIo, fmt::format("cannot {} {}: {}", what, name, system_message(error))};
}

Status Output::write_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor_, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EPIPE) break;
    if (written < 0) return failure("write");
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

Status Output::write(std::string_view text) {
  if (descriptor_ == kNoDescriptor) {
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kReadableByAll);
    if (descriptor_ < 0) return failure("write");
  }
  if (is_file() && is_regular(descriptor_) && ftruncate(descriptor_, 0) != 0) return failure("empty");
  if (Status status = write_all(text); !status.ok()) return status;
  if (!is_file()) return {};
  const bool can_be_removed = is_regular(descriptor_);
  if (::close(std::exchange(descriptor_, kNoDescriptor)) == 0) return {};
  const int error = errno;
  if (can_be_removed) ::unlink(path_.c_str());
  errno = error;
  return failure("finish");
}

Result<std::unique_ptr<LogFile>> LogFile::open(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, kReadableByAll);
  if (descriptor < 0) return cannot_write(path, errno);
  return std::unique_ptr<LogFile>(new LogFile(descriptor, absolute_path(path)));
}

LogFile::~LogFile() {
  struct stat status{};
  const bool is_empty = fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode) && status.st_size == 0;
  ::close(descriptor_);
  if (is_empty) ::unlink(path_.c_str());
}

}  // namespace deadheat
