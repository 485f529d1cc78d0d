// SPDX-License-Identifier: Apache-2.0
#include "trace/binary_input.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

namespace deadheat {
namespace {

class FileInput final : public BinaryInput {
 public:
  FileInput(int descriptor, const std::string& path) : descriptor_(descriptor), name_(fmt::format("trace '{}'", path)) {
    struct stat status{};
    if (::fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode)) {
      total_ = static_cast<std::uint64_t>(status.st_size);
    }
  }
  ~FileInput() override { ::close(descriptor_); }

  Result<std::span<const std::byte>> take(std::size_t size) override {
    if (buffer_.size() < size) buffer_.resize(size);
    std::size_t filled = 0;
    while (filled < size) {
      const ssize_t count = ::read(descriptor_, buffer_.data() + filled, size - filled);
      if (count == 0) break;
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) {
        return Error{ErrorCode::kIo,
                     fmt::format("cannot read {} at byte {}: {}", name_, done_ + filled, std::strerror(errno))};
      }
      filled += static_cast<std::size_t>(count);
    }
    done_ += filled;
    return std::span<const std::byte>{buffer_.data(), filled};
  }

  [[nodiscard]] SourceProgress progress() const override { return {done_, std::max(done_, total_)}; }
  [[nodiscard]] const std::string& name() const override { return name_; }

 private:
  int descriptor_;
  std::string name_;
  std::vector<std::byte> buffer_;
  std::uint64_t done_ = 0;
  std::uint64_t total_ = 0;
};

class MemoryInput final : public BinaryInput {
 public:
  MemoryInput(std::span<const std::byte> bytes, std::string name) : bytes_(bytes), name_(std::move(name)) {}

  Result<std::span<const std::byte>> take(std::size_t size) override {
    const auto taken = bytes_.subspan(done_, std::min(size, bytes_.size() - done_));
    done_ += taken.size();
    return taken;
  }
  [[nodiscard]] SourceProgress progress() const override { return {done_, bytes_.size()}; }
  [[nodiscard]] const std::string& name() const override { return name_; }

 private:
  std::span<const std::byte> bytes_;
  std::string name_;
  std::size_t done_ = 0;
};

}  // namespace

Result<std::unique_ptr<BinaryInput>> open_binary_input(const std::string& path) {
  const auto failed = [&](const char* reason) {
    return Error{ErrorCode::kIo, fmt::format("cannot open trace '{}': {}", path, reason)};
  };
  const int descriptor = path == "-" ? ::dup(STDIN_FILENO) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return failed(std::strerror(errno));
  auto input = std::make_unique<FileInput>(descriptor, path);
  struct stat status{};
  if (::fstat(descriptor, &status) != 0) return failed(std::strerror(errno));
  if (S_ISDIR(status.st_mode)) return failed("it is a directory");
  if (!S_ISREG(status.st_mode) && !S_ISFIFO(status.st_mode) && !S_ISSOCK(status.st_mode)) {
    return failed("it is neither a file nor a pipe");
  }
  return std::unique_ptr<BinaryInput>{std::move(input)};
}

std::unique_ptr<BinaryInput> binary_input_from(std::span<const std::byte> bytes, std::string name) {
  return std::make_unique<MemoryInput>(bytes, std::move(name));
}

}  // namespace deadheat
