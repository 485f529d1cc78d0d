// SPDX-License-Identifier: Apache-2.0
// What the command line knows, as plain data: completion and manual pages are made from it,
// so that neither can say anything else than the parser does.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace deadheat {

struct OptionFacts {
  std::vector<std::string> names;    // with their dashes, the short ones first; none: a word without a name
  std::string value;                 // what follows it, as in the help: FILE; empty for a flag
  std::vector<std::string> choices;  // the values, where they are few
  std::string help;

  // Whether a value is the path of a file or a directory.
  [[nodiscard]] bool takes_path() const;
};

struct CommandFacts {
  std::string name;  // with the commands above it: "deadheat trace check"
  std::string summary;
  std::string footer;  // prose, then "Examples:" and "Exit codes:", in paragraphs
  std::vector<OptionFacts> options;
  std::vector<CommandFacts> commands;

  // The last word of the name.
  [[nodiscard]] std::string word() const;
};

CommandFacts facts_of(const CLI::App& app);

// The command and all below it, each before those below it.
std::vector<const CommandFacts*> all_commands(const CommandFacts& root);

}  // namespace deadheat
