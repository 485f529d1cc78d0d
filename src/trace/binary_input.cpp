// SPDX-License-Identifier: Apache-2.0
#include "trace/binary_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace deadheat {
namespace {

class FileInput final : public BinaryInput {
 public:
  explicit FileInput(TraceFile file) : file_(std::move(file)), name_(fmt::format("trace '{}'", file_.path())) {}

  Result<std::span<const std::byte>> take(std::size_t size) override {
    if (buffer_.size() < size) buffer_.resize(size);
    const auto filled = file_.read(std::span(buffer_).first(size));
    if (!filled.ok()) return filled.error();
    done_ += filled.value();
    return std::span<const std::byte>{buffer_.data(), filled.value()};
  }

  [[nodiscard]] SourceProgress progress() const override { return {done_, std::max(done_, file_.size())}; }
  [[nodiscard]] const std::string& name() const override { return name_; }

 private:
  TraceFile file_;
  std::string name_;
  std::vector<std::byte> buffer_;
  std::uint64_t done_ = 0;
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

std::unique_ptr<BinaryInput> binary_input_from(TraceFile file) { return std::make_unique<FileInput>(std::move(file)); }

std::unique_ptr<BinaryInput> binary_input_from(std::span<const std::byte> bytes, std::string name) {
  return std::make_unique<MemoryInput>(bytes, std::move(name));
}

}  // namespace deadheat
