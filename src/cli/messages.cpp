// SPDX-License-Identifier: Apache-2.0
#include "cli/messages.h"

#include <fmt/format.h>

#include <cstdio>
#include <system_error>

#include "report/describe.h"

namespace deadheat {

namespace {

// Messages quote names from traces and command lines: none may steer the
// terminal. One call per line, so that lines of parallel processes stay whole.
void print_line(std::string_view prefix, std::string_view message) {
  const std::string line = fmt::format("deadheat: {}{}\n", prefix, printable(message));
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace

void print_error(std::string_view message) { print_line("error: ", message); }
void print_warning(std::string_view message) { print_line("warning: ", message); }
void print_note(std::string_view message) { print_line("", message); }

std::string about_file(std::string_view path, std::string_view message) {
  if (message.find(path) != std::string_view::npos) return std::string(message);
  return fmt::format("'{}': {}", path, message);
}

std::string system_message(int error) { return std::generic_category().message(error); }

}  // namespace deadheat
