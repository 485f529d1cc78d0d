// SPDX-License-Identifier: Apache-2.0
#include "watch/choose_modules.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "watch/attach/process_view.h"
#include "watch/needed_libraries.h"

namespace deadheat::watch {
namespace {

namespace files = std::filesystem;

constexpr std::string_view kAgentUsesIt = "the agent itself uses it";

struct Unwatched {
  std::string_view name;  // before ".so", or before the version in "libc-2.28.so"
  std::string_view reason;
};

constexpr Unwatched kUnwatched[] = {
    {"libc", kAgentUsesIt},
    {"ld", kAgentUsesIt},
    {"libpthread", kAgentUsesIt},
    {"libdl", kAgentUsesIt},
    {"librt", kAgentUsesIt},
    {"libgcc_s", kAgentUsesIt},
    {"libm", "it has no data that threads share"},
    {"linux-vdso", "it is the kernel's"},
};

std::string_view name_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }

std::string_view short_name_of(std::string_view path) {
  const std::string_view name = name_of(path);
  return name.substr(0, name.find(".so"));
}

bool matches(const std::string& pattern, const std::string& path) {
  const std::string names[] = {path, std::string(name_of(path)), std::string(short_name_of(path))};
  return std::any_of(std::begin(names), std::end(names),
                     [&](const std::string& name) { return ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0; });
}

std::string names_of(const std::vector<std::string>& paths) {
  std::string list;
  for (const std::string& path : paths) {
    if (!reason_against(path).empty()) continue;
    if (!list.empty()) list += ", ";
    list += name_of(path);
  }
  return list;
}

// What there is to choose from.
struct Offer {
  std::string whose;  // for messages: "'program'", "process 12"
  std::string verb;   // how it came by its libraries: "needs", "has loaded"
  std::string program;
  std::vector<std::string> libraries;
  std::vector<std::string> missing;
};

Error nothing_matches(const std::string& pattern, const Offer& offer) {
  for (const std::string& library : offer.libraries) {
    if (!matches(pattern, library)) continue;
    return {ErrorCode::kInvalid, fmt::format("'--module {}' matches only '{}', which is never watched: {}", pattern,
                                             library, reason_against(library))};
  }
  for (const std::string& name : offer.missing) {
    if (!matches(pattern, name)) continue;
    return {ErrorCode::kInvalid, fmt::format("'--module {}' matches '{}', but that file is not found; if it is not in "
                                             "the usual folders, set LD_LIBRARY_PATH",
                                             pattern, name)};
  }
  const std::string names = names_of(offer.libraries);
  return {
      ErrorCode::kInvalid,
      fmt::format("'--module {}' matches no library that {} {} ({}); of a library that is loaded later, give the path",
                  pattern, offer.whose, offer.verb, names.empty() ? "none that may be watched" : names)};
}

// The path of a file that the pattern is; empty if it is none.
std::string file_itself(const std::string& pattern) {
  std::error_code error;
  if (pattern.find('/') == std::string::npos || !files::is_regular_file(pattern, error)) return {};
  const files::path real = files::canonical(pattern, error);
  return error || !reason_against(real.string()).empty() ? std::string{} : real.string();
}

Result<std::vector<std::string>> choose(const Offer& offer, const std::vector<std::string>& patterns) {
  std::vector<std::string> chosen{offer.program};
  const auto add = [&](const std::string& path) {
    if (std::find(chosen.begin(), chosen.end(), path) == chosen.end()) chosen.push_back(path);
  };
  for (const std::string& pattern : patterns) {
    bool is_used = matches(pattern, offer.program);
    for (const std::string& library : offer.libraries) {
      if (!matches(pattern, library) || !reason_against(library).empty()) continue;
      is_used = true;
      add(library);
    }
    if (is_used) continue;
    const std::string file = file_itself(pattern);
    if (file.empty()) return nothing_matches(pattern, offer);
    add(file);
  }
  return chosen;
}

}  // namespace

std::string_view reason_against(std::string_view path) {
  const std::string_view name = short_name_of(path);
  if (path.starts_with('[')) return "it is the kernel's";
  if (name.starts_with("libdeadheat")) return "it belongs to deadheat";
  if (name_of(path).find(".so") == std::string_view::npos) return {};
  for (const Unwatched& unwatched : kUnwatched) {
    if (!name.starts_with(unwatched.name)) continue;
    const std::string_view rest = name.substr(unwatched.name.size());
    const bool is_versioned = rest.size() > 1 && rest[0] == '-' && rest[1] >= '0' && rest[1] <= '9';
    const bool is_loader = unwatched.name == "ld" && (rest.starts_with("-linux") || rest.starts_with("-musl"));
    if (rest.empty() || is_versioned || is_loader) return unwatched.reason;
  }
  return {};
}

Result<std::vector<std::string>> choose_modules(const std::string& program, const std::vector<std::string>& patterns,
                                                const std::string& library_path) {
  auto needed = needed_libraries(program, library_path);
  if (!needed.ok()) return needed.error();
  std::error_code error;
  const files::path real = files::canonical(program, error);
  if (error) return Error{ErrorCode::kIo, fmt::format("cannot read '{}': {}", program, error.message())};
  return choose({fmt::format("'{}'", program), "needs", real.string(), std::move(needed.value().paths),
                 std::move(needed.value().missing)},
                patterns);
}

Result<std::vector<std::string>> choose_modules(pid_t process, const std::vector<std::string>& patterns) {
  const std::string folder = fmt::format("/proc/{}", process);
  std::error_code error;
  const files::path program = files::read_symlink(folder + "/exe", error);
  std::ifstream maps(folder + "/maps");
  if (error || !maps) {
    return Error{ErrorCode::kIo,
                 fmt::format("cannot look at process {}: {}", process, error ? error.message() : "permission denied")};
  }
  Offer offer{fmt::format("process {}", process), "has loaded", path_in_process(process, program.string()), {}, {}};
  for (std::string line; std::getline(maps, line);) {
    // begin-end flags offset device inode path
    const std::size_t path_at = line.find('/');
    const std::size_t flags_at = line.find(' ');
    if (path_at == std::string::npos || flags_at + 3 >= line.size() || line[flags_at + 3] != 'x') continue;
    const std::string path = path_in_process(process, line.substr(path_at));
    if (path.ends_with(" (deleted)") || path == offer.program) continue;
    if (std::find(offer.libraries.begin(), offer.libraries.end(), path) == offer.libraries.end()) {
      offer.libraries.push_back(path);
    }
  }
  return choose(offer, patterns);
}

}  // namespace deadheat::watch
