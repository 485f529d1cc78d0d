// SPDX-License-Identifier: Apache-2.0
#include "command.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <sstream>
#include <system_error>

extern char** environ;

namespace deadheat::programs {

namespace {

std::string quoted(const std::string& word) {
  const bool is_plain =
      word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,") ==
      std::string::npos;
  return is_plain && !word.empty() ? word : "'" + word + "'";
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> whole_environment(const Command& command) {
  std::vector<std::string> all = command.environment;
  for (char** entry = environ; *entry != nullptr; ++entry) all.emplace_back(*entry);
  return all;
}

pid_t start(const Command& command, const std::filesystem::path& input, const std::filesystem::path& output) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, input.c_str(), O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND,
                                   0600);
  posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  std::vector<std::string> words = command.words;
  std::vector<std::string> environment = whole_environment(command);
  pid_t child = -1;
  const int error = posix_spawnp(&child, words[0].c_str(), &files, &attributes, pointers_to(words).data(),
                                 pointers_to(environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (error != 0) throw std::system_error(error, std::generic_category(), words[0]);
  return child;
}

// False when the time was over first.
bool ends_within(pid_t child, std::chrono::milliseconds limit) {
  const int descriptor = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
  if (descriptor < 0) throw std::system_error(errno, std::generic_category(), "pidfd_open");
  pollfd wanted{descriptor, POLLIN, 0};
  const int ready = poll(&wanted, 1, static_cast<int>(limit.count()));
  close(descriptor);
  return ready != 0;
}

}  // namespace

std::string Command::text() const {
  std::string text;
  for (const std::string& variable : environment) text += quoted(variable) + " ";
  for (const std::string& word : words) text += quoted(word) + " ";
  if (!text.empty()) text.pop_back();
  return text;
}

CommandResult run_command(const Command& command, const std::filesystem::path& scratch) {
  const std::filesystem::path output = scratch / "output";
  const std::filesystem::path input = scratch / "input";
  write_file(input, command.input);
  const pid_t child = start(command, input, output);
  CommandResult result;
  result.timed_out = !ends_within(child, command.limit);
  if (result.timed_out) kill(-child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  result.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  result.output = read_file(output);
  return result;
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

void write_file(const std::filesystem::path& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << text;
}

}  // namespace deadheat::programs
