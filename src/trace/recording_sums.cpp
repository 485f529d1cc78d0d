// SPDX-License-Identifier: Apache-2.0
#include "trace/recording_sums.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>

#include "trace/chunk_checksum.h"
#include "trace/malformed.h"

namespace deadheat {

namespace {

bool is_log(const std::string& name) {
  return name == "agent" || name.starts_with("log.") || name.starts_with("tail.");
}

std::optional<FileSum> sum_of(const std::filesystem::path& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  struct stat status{};
  FileSum sum{path.filename().string(), 0, xxh64({})};
  bool is_read = fstat(file, &status) == 0;
  sum.size = static_cast<std::uint64_t>(status.st_size);
  if (is_read && sum.size != 0) {
    void* const memory = mmap(nullptr, sum.size, PROT_READ, MAP_PRIVATE, file, 0);
    is_read = memory != MAP_FAILED;
    if (is_read) {
      sum.checksum = xxh64({static_cast<const std::byte*>(memory), sum.size});
      munmap(memory, sum.size);
    }
  }
  close(file);
  return is_read ? std::optional(sum) : std::nullopt;
}

// Nothing: it is not there.
std::optional<std::span<const std::byte>> file_in(const RecordingBytes& bytes, const std::string& name) {
  if (name == "agent") return bytes.agent.empty() ? std::nullopt : std::optional(bytes.agent);
  const std::string number = name.substr(name.find('.') + 1);
  const auto log = std::find_if(bytes.logs.begin(), bytes.logs.end(),
                                [&](const RecordingBytes::Log& one) { return std::to_string(one.thread) == number; });
  if (log == bytes.logs.end()) return std::nullopt;
  return name.starts_with("log.") ? log->log : log->tail;
}

}  // namespace

std::vector<FileSum> sums_of_logs(const std::string& directory) {
  std::vector<FileSum> sums;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    if (!is_log(entry.path().filename().string())) continue;
    if (auto sum = sum_of(entry.path())) sums.push_back(std::move(*sum));
  }
  return sums;
}

Status check_sums(const std::vector<FileSum>& sums, const RecordingBytes& bytes) {
  for (const FileSum& sum : sums) {
    const auto file = file_in(bytes, sum.name);
    if (!file || (file->empty() && sum.size != 0)) return malformed("{} of the recording is missing", sum.name);
    if (file->size() == sum.size && xxh64(*file) == sum.checksum) continue;
    return malformed("{} of the recording is damaged: it is not what the recorder left (wrong {})", sum.name,
                     file->size() == sum.size ? "checksum" : "size");
  }
  return {};
}

}  // namespace deadheat
