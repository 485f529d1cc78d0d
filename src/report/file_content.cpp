// SPDX-License-Identifier: Apache-2.0
#include "report/file_content.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

namespace deadheat {

namespace {

Error reason(int error) { return {ErrorCode::kIo, std::generic_category().message(error)}; }

}  // namespace

Result<std::string> file_content(const std::string& path) {
  const int descriptor =
      path == "-" ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return reason(errno);
  std::string content;
  std::array<char, 1U << 16U> buffer;
  ssize_t size = 0;
  while ((size = ::read(descriptor, buffer.data(), buffer.size())) != 0) {
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) break;
    content.append(buffer.data(), static_cast<std::size_t>(size));
  }
  const int error = errno;
  ::close(descriptor);
  if (size < 0) return reason(error);
  return content;
}

}  // namespace deadheat
