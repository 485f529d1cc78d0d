// SPDX-License-Identifier: Apache-2.0
#include "watch/attach/process_view.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "watch/attach/traced_process.h"

namespace deadheat::watch {
namespace {

namespace files = std::filesystem;

std::string link_at(const std::string& path) {
  std::error_code error;
  return files::read_symlink(path, error).string();
}

// The last of "NSpid: 4711 12": the number in the process's own namespace.
std::string own_number_of(pid_t process) {
  const std::string numbers = status_of(process, "NSpid");
  const std::size_t last = numbers.find_last_of(" \t");
  return last == std::string::npos ? numbers : numbers.substr(last + 1);
}

}  // namespace

std::string path_in_process(pid_t process, const std::string& path) {
  const std::string root = link_at(fmt::format("/proc/{}/root", process));
  if (root.size() <= 1 || !path.starts_with(root) || path[root.size()] != '/') return path;
  return path.substr(root.size());
}

std::string file_of_process(pid_t process, const std::string& path) {
  std::string file = fmt::format("/proc/{}/root{}", process, path);
  std::error_code error;
  return files::exists(file, error) || !files::exists(path, error) ? file : path;
}

pid_t living_thread_of(pid_t process) {
  if (!status_of(process, "State").starts_with('Z')) return process;
  for (const pid_t thread : threads_of(process)) {
    if (!status_of_thread(process, thread, "State").starts_with('Z')) return thread;
  }
  return process;
}

std::string reason_against_own_view() {
  std::error_code error;
  const files::path own = files::read_symlink("/proc/self", error);
  if (error) return "there is no /proc here: mount one (mount -t proc proc /proc)";
  if (own.string() == std::to_string(getpid())) return {};
  return "the /proc here is that of another pid namespace: mount one (mount -t proc proc /proc)";
}

std::string reason_against_view(pid_t process) {
  if (std::string reason = reason_against_own_view(); !reason.empty()) return reason;
  const std::string group = status_of(process, "Tgid");
  if (!group.empty() && group != std::to_string(process)) {
    return fmt::format("{} is a thread of process {}: say --pid {}", process, group, group);
  }
  if (living_thread_of(process) != process) {
    return fmt::format(
        "the main thread of process {} has ended (pthread_exit), others go on: such a process can only be "
        "watched from its start",
        process);
  }
  const std::string space = link_at(fmt::format("/proc/{}/ns/pid", process));
  if (space.empty()) return {};  // somebody else's: that is said when it is traced
  const std::string inside = fmt::format("/proc/{}/root/proc/{}/ns/pid", process, own_number_of(process));
  if (link_at(inside) == space) return {};
  return fmt::format(
      "process {} has no /proc of its own (a pid namespace or chroot without one): the agent needs one to "
      "find its code and threads; mount one there (mount -t proc proc /proc)",
      process);
}

}  // namespace deadheat::watch
