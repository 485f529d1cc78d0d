// SPDX-License-Identifier: Apache-2.0
#include "watch/refuse_runtime.h"

#include <fmt/format.h>

#include "image/signal_runtime.h"
#include "watch/needed_libraries.h"

namespace deadheat::watch {

Status refuse_runtime(const std::string& whose, const ElfImage& image, const std::string& file) {
  const std::string_view runtime = runtime_beside_libc(image);
  if (runtime.empty()) return {};
  return Error{ErrorCode::kUnsupported,
               fmt::format("{} is a {} program ({}): {} orders its threads and blocks signals by system calls of its "
                           "own, which cannot be seen, and a breakpoint could end it; use '{}'",
                           whose, runtime, file, runtime, "go build -race")};
}

Status refuse_runtime_of(const std::string& program, const std::string& library_path) {
  const auto image = ElfImage::open(program);
  if (!image.ok()) return {};
  const std::string whose = fmt::format("'{}'", program);
  if (const Status status = refuse_runtime(whose, image.value(), program); !status.ok()) return status;
  const auto needed = needed_libraries(program, library_path);
  if (!needed.ok()) return {};
  for (const std::string& path : needed.value().paths) {
    const auto library = ElfImage::open(path);
    if (!library.ok()) continue;
    if (const Status status = refuse_runtime(whose, library.value(), path); !status.ok()) return status;
  }
  return {};
}

Status refuse_runtime_of(pid_t process) {
  const auto image = ElfImage::open(fmt::format("/proc/{}/exe", process));
  if (!image.ok()) return {};
  return refuse_runtime(fmt::format("process {}", process), image.value(), "its file says so");
}

}  // namespace deadheat::watch
