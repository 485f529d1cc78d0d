// SPDX-License-Identifier: Apache-2.0
// Runs a command with a time limit.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace deadheat::programs {

struct Command {
  std::vector<std::string> words;
  std::vector<std::string> environment;  // "NAME=value", added to ours
  std::string input;
  std::chrono::seconds limit{20};

  // As one would type it.
  [[nodiscard]] std::string text() const;
};

struct CommandResult {
  int status = 0;  // as a shell has it: 128 + signal when killed by one
  bool timed_out = false;
  std::string output;  // standard output and standard error
};

// The command is a process group of its own, and all of the group is killed when
// the time is over: the command may have started others. `scratch` is a folder
// for its output. Throws std::system_error when no process can be made.
[[nodiscard]] CommandResult run_command(const Command& command, const std::filesystem::path& scratch);

[[nodiscard]] std::string read_file(const std::filesystem::path& path);
void write_file(const std::filesystem::path& path, const std::string& text);

}  // namespace deadheat::programs
