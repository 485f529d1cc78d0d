// SPDX-License-Identifier: Apache-2.0
#include "cli/install_layout.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace deadheat {

namespace {

// Empty if there is none to try.
std::string library_directory() {
  if (const char* named = std::getenv("DEADHEAT_LIB_DIR"); named != nullptr && *named != '\0') return named;
  const std::filesystem::path executable = executable_path();
  if (executable.empty()) return {};
  return (executable.parent_path().parent_path() / "lib" / "deadheat").string();
}

}  // namespace

std::string executable_path() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).string();
}

Result<InstallLayout> find_install_layout() {
  InstallLayout layout{library_directory()};
  if (layout.library_directory.empty()) {
    return Error{ErrorCode::kIo, "cannot tell where deadheat is installed (is /proc mounted?); set DEADHEAT_LIB_DIR"};
  }
  std::error_code error;
  if (!std::filesystem::exists(layout.static_runtime(), error)) {
    return Error{ErrorCode::kIo, fmt::format("the runtime is not installed: no '{}'; set DEADHEAT_LIB_DIR to the "
                                             "directory that has libdeadheat_rt.a",
                                             layout.static_runtime())};
  }
  return layout;
}

}  // namespace deadheat
