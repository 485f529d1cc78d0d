// SPDX-License-Identifier: Apache-2.0
#include "cli/launch.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include "base/inherited_filters.h"
#include "cli/install_layout.h"
#include "cli/messages.h"
#include "cli/openmp_tool.h"
#include "cli/preload_check.h"
#include "cli/program_file.h"
#include "runtime/raw_report.h"

namespace deadheat {

namespace {

std::string advice(const std::string& path) {
  return fmt::format(
      "build it with 'deadheat c++' or 'deadheat cc' in place of the compiler (see 'deadheat c++ --help'), then run "
      "'{}' again",
      path);
}

// Whether the program can report to us; says why not.
bool is_observable(const ProgramFile& program, Uninstrumented uninstrumented) {
  if (program.kind == ProgramKind::kStaticTsan) {
    print_error(
        fmt::format("'{}' has clang's own ThreadSanitizer runtime linked into it, which cannot be replaced; "
                    "link it again with 'deadheat c++', or with clang's -shared-libsan",
                    program.path));
    return false;
  }
  if (program.kind != ProgramKind::kUninstrumented || uninstrumented == Uninstrumented::kRun) return true;
  const Status loadable = check_preload(program.path);
  const bool is_for_musl = !loadable.ok() && loadable.error().message.find("musl") != std::string::npos;
  print_error(fmt::format("'{}' was not built for race detection{}; {} (--force runs it as it is)", program.path,
                          is_for_musl ? ", and it is a program for musl, where there is none: it takes glibc" : "",
                          advice(program.path)));
  return false;
}

void warn_of_rpath(const ProgramFile& program, const InstallLayout& layout) {
  std::error_code ignored;
  for (const std::string& directory : program.rpath) {
    const std::string library = directory + "/" + program.runtime_name;
    if (!std::filesystem::exists(library, ignored)) continue;
    if (std::filesystem::equivalent(directory, layout.stand_in_directory(), ignored)) return;
    print_warning(
        fmt::format("'{}' has an RPATH that finds '{}' before ours: races will be reported by that library, "
                    "not by Deadheat; link the program without that RPATH",
                    program.path, library));
    return;
  }
}

// The environment that makes the loader take our libraries.
Status add_libraries(const ProgramFile& program, std::vector<std::string>& settings) {
  const auto layout = find_install_layout();
  if (!layout.ok()) {
    // A program with our runtime inside needs nothing of us.
    if (program.kind == ProgramKind::kSharedTsan) return layout.error();
    return {};
  }
  const InstallLayout& files = layout.value();
  if (program.kind == ProgramKind::kSharedTsan) {
    const std::string library = files.stand_in_directory() + "/" + program.runtime_name;
    std::error_code ignored;
    if (!std::filesystem::exists(library, ignored)) {
      return Error{ErrorCode::kUnsupported,
                   fmt::format("'{}' needs '{}', and '{}' has no replacement for it; {}", program.path,
                               program.runtime_name, files.stand_in_directory(), advice(program.path))};
    }
    warn_of_rpath(program, files);
  }
  const char* before = std::getenv("LD_LIBRARY_PATH");
  settings.push_back(fmt::format("LD_LIBRARY_PATH={}:{}{}{}", files.stand_in_directory(), files.library_directory,
                                 before == nullptr || *before == '\0' ? "" : ":", before == nullptr ? "" : before));
  return {};
}

}  // namespace

ExitCode failed(const Error& error, ExitCode code) {
  print_error(error.message);
  return code;
}

std::optional<ChildRequest> make_launch_plan(const std::vector<std::string>& words, const RunSettings& settings,
                                             Uninstrumented uninstrumented, ExitCode& result) {
  const Lookup lookup = find_program(words.front());
  if (lookup.path.empty()) {
    print_error(lookup.error.message);
    result = exit_code(static_cast<int>(lookup.error.failure));
    return std::nullopt;
  }
  const auto program = inspect_program(lookup.path);
  if (!program.ok()) {
    print_error(program.error().message);
    result = exit_code(static_cast<int>(LaunchFailure::kNotExecutable));
    return std::nullopt;
  }
  if (!is_observable(program.value(), uninstrumented)) {
    result = ExitCode::kUsage;
    return std::nullopt;
  }
  ChildRequest plan;
  plan.path = lookup.path;
  plan.arguments = words;
  plan.settings.push_back(options_setting(runtime_options(settings)));
  if (const Status status = add_libraries(program.value(), plan.settings); !status.ok()) {
    print_error(status.error().message);
    result = ExitCode::kFailure;
    return std::nullopt;
  }
  add_openmp_tool(plan.settings);
  return plan;
}

std::string options_setting(std::string_view options) {
  return fmt::format("{}={}", raw_report::kOptionsVariable, options);
}

// A download in the middle of a run would hold up the program.
std::string filters_setting() { return fmt::format("{}={}", kKnownFiltersVariable, own_filters()); }

std::string preload_setting(const std::string& agent) {
  const char* const before = std::getenv("LD_PRELOAD");
  return fmt::format("LD_PRELOAD={}{}{}", agent, before == nullptr || *before == '\0' ? "" : ":",
                     before == nullptr ? "" : before);
}

void symbolise_locally(ChildRequest& program) {
  constexpr char kServers[] = "DEBUGINFOD_URLS";
  if (const char* servers = std::getenv(kServers)) program.settings.push_back(fmt::format("{}={}", kServers, servers));
  unsetenv(kServers);
}

}  // namespace deadheat
