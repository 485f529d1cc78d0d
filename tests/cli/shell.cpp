// SPDX-License-Identifier: Apache-2.0
#include "cli/shell.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/check.h"

namespace deadheat {

namespace {

std::string make_directory() {
  std::string pattern = (std::filesystem::temp_directory_path() / "deadheat-cli-XXXXXX").string();
  DEADHEAT_CHECK(mkdtemp(pattern.data()) != nullptr);
  return pattern;
}

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

Shell::Shell() : directory_(make_directory()), log_directory_(make_directory()) {}

Shell::~Shell() {
  std::filesystem::remove_all(directory_);
  std::filesystem::remove_all(log_directory_);
}

CommandResult Shell::run(const std::string& command) const {
  const std::string script = log_directory_ + "/command";
  std::ofstream(script) << fmt::format(
      "unset NO_COLOR\nexport DEADHEAT_STORE=none PATH='{}':\"$PATH\"\ncd '{}' || exit 99\n{}\n", DEADHEAT_BINARY_DIR,
      directory_, command);
  const std::string line = fmt::format("bash '{0}/command' >'{0}/output' 2>'{0}/errors' </dev/null", log_directory_);
  const int status = std::system(line.c_str());
  CommandResult result;
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  result.output = content_of(log_directory_ + "/output");
  result.errors = content_of(log_directory_ + "/errors");
  return result;
}

void Shell::write_file(const std::string& name, std::string_view content) const {
  std::ofstream(directory_ + "/" + name, std::ios::binary) << content;
}

std::string Shell::read_file(const std::string& name) const { return content_of(directory_ + "/" + name); }

bool Shell::exists(const std::string& name) const { return std::filesystem::exists(directory_ + "/" + name); }

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace deadheat
