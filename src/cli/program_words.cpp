// SPDX-License-Identifier: Apache-2.0
#include "cli/program_words.h"

#include <fmt/format.h>

#include <cstring>
#include <string_view>

#include "cli/commands.h"

namespace deadheat {

namespace {

// Stands for the first "--" while the command line is parsed. No option, so the
// parsing ends at it at the latest, and no text that a user can type by accident.
constexpr char kDoubleDash[] = "\x01--";

}  // namespace

Result<std::vector<std::string>> program_words(const CLI::App& command) {
  std::vector<std::string> words = command.remaining();
  const std::string help = fmt::format("see 'deadheat {} --help'", command.get_name());
  const bool is_marked = !words.empty() && words.front() == kDoubleDash;
  if (is_marked) words.erase(words.begin());
  // Behind the program's name it is the program's own.
  for (std::string& word : words) {
    if (word == kDoubleDash) word = "--";
  }
  if (words.empty()) return Error{ErrorCode::kInvalid, "which program? " + help};
  if (!is_marked && words.front().starts_with("-")) {
    return Error{ErrorCode::kInvalid, fmt::format("unknown option '{}'; {}", words.front(), help)};
  }
  return words;
}

void keep_double_dash(int argument_count, char** arguments) {
  static char stand_in[sizeof(kDoubleDash)];
  std::memcpy(stand_in, kDoubleDash, sizeof(kDoubleDash));
  if (argument_count < 2) return;
  const std::string_view command = arguments[1];
  if (command != "run" && command != "hunt" && command != "watch" && command != "record") return;
  for (int index = 2; index < argument_count; ++index) {
    if (std::strcmp(arguments[index], "--") != 0) continue;
    arguments[index] = stand_in;
    return;
  }
}

}  // namespace deadheat
