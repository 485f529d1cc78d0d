// SPDX-License-Identifier: Apache-2.0
// Runs shell commands as a user would type them, in a directory of their own
// that vanishes afterwards. `deadheat` is the one that was just built.
#pragma once

#include <string>
#include <string_view>

namespace deadheat {

struct CommandResult {
  int exit_code = -1;  // 128 + n when the shell died of signal n
  std::string output;
  std::string errors;
};

class Shell {
 public:
  Shell();
  ~Shell();
  Shell(const Shell&) = delete;
  Shell& operator=(const Shell&) = delete;

  // By bash, without a terminal, with NO_COLOR unset.
  [[nodiscard]] CommandResult run(const std::string& command) const;

  void write_file(const std::string& name, std::string_view content) const;
  [[nodiscard]] std::string read_file(const std::string& name) const;
  [[nodiscard]] bool exists(const std::string& name) const;
  // Absolute, of a file in the directory.
  [[nodiscard]] std::string path(const std::string& name) const { return directory_ + "/" + name; }

 private:
  std::string directory_;
  std::string log_directory_;  // apart, so that tests may list the directory
};

// What most checks of an output ask.
[[nodiscard]] bool contains(const std::string& text, const std::string& part);

}  // namespace deadheat
