// SPDX-License-Identifier: Apache-2.0
#include "cli/openmp_tool.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace deadheat {

namespace {

constexpr char kName[] = "libarcher.so";

bool is_file(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

// Debian keeps each version of LLVM in a folder of its own.
std::optional<std::string> newest_in_llvm_folders() {
  constexpr int kNewest = 40;
  constexpr int kOldest = 11;  // the first whose tool goes by these names
  for (int version = kNewest; version >= kOldest; --version) {
    std::string path = fmt::format("/usr/lib/llvm-{}/lib/{}", version, kName);
    if (is_file(path)) return path;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> find_openmp_tool() {
  if (auto found = newest_in_llvm_folders()) return found;
  for (const char* folder : {"/usr/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib", "/usr/local/lib"}) {
    std::string path = fmt::format("{}/{}", folder, kName);
    if (is_file(path)) return path;
  }
  return std::nullopt;
}

void add_openmp_tool(std::vector<std::string>& settings) {
  if (std::getenv("OMP_TOOL_LIBRARIES") != nullptr || std::getenv("OMP_TOOL") != nullptr) return;
  const auto tool = find_openmp_tool();
  if (!tool) return;
  settings.push_back("OMP_TOOL_LIBRARIES=" + *tool);
  // Without it the tool warns of what our runtime does anyway.
  constexpr std::string_view kIgnore = "ignore_noninstrumented_modules=1";
  const char* const before = std::getenv("TSAN_OPTIONS");
  settings.push_back(fmt::format("TSAN_OPTIONS={}{}{}", before == nullptr ? "" : before,
                                 before == nullptr || *before == '\0' ? "" : ":", kIgnore));
}

}  // namespace deadheat
