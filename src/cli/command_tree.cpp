// SPDX-License-Identifier: Apache-2.0
#include "cli/command_tree.h"

#include <CLI/CLI.hpp>
#include <string_view>

namespace deadheat {

namespace {

// "TEXT:{text,json}" is how CLI11 describes a choice.
std::vector<std::string> choices_of(std::string_view type) {
  const auto begin = type.find('{');
  const auto end = type.find('}', begin == std::string_view::npos ? 0 : begin);
  if (begin == std::string_view::npos || end == std::string_view::npos) return {};
  return CLI::detail::split(std::string(type.substr(begin + 1, end - begin - 1)), ',');
}

OptionFacts facts_of(const CLI::Option& option) {
  OptionFacts facts;
  for (const std::string& name : option.get_snames()) facts.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) facts.names.push_back("--" + name);
  facts.help = option.get_description();
  if (option.get_items_expected_max() > 0) {
    facts.choices = choices_of(option.get_type_name());
    facts.value = option.get_option_text().empty() ? "VALUE" : option.get_option_text();
    if (facts.names.empty() && option.get_option_text().empty()) facts.value = option.get_name();
  }
  return facts;
}

CommandFacts facts_below(const CLI::App& app, const std::string& above) {
  CommandFacts facts;
  facts.name = above.empty() ? app.get_name() : above + " " + app.get_name();
  facts.summary = app.get_description();
  facts.footer = app.get_footer();
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_group().empty()) facts.options.push_back(facts_of(*option));
  }
  for (const CLI::App* command : app.get_subcommands({})) {
    if (!command->get_group().empty()) facts.commands.push_back(facts_below(*command, facts.name));
  }
  return facts;
}

void add_all(const CommandFacts& root, std::vector<const CommandFacts*>& all) {
  all.push_back(&root);
  for (const CommandFacts& command : root.commands) add_all(command, all);
}

}  // namespace

bool OptionFacts::takes_path() const {
  for (const std::string_view word : {"FILE", "DIR", "PATH", "TRACE", "INPUT", "OUTPUT", "RAW"}) {
    if (value.find(word) != std::string::npos) return true;
  }
  return false;
}

std::string CommandFacts::word() const { return name.substr(name.rfind(' ') + 1); }

CommandFacts facts_of(const CLI::App& app) { return facts_below(app, ""); }

std::vector<const CommandFacts*> all_commands(const CommandFacts& root) {
  std::vector<const CommandFacts*> all;
  add_all(root, all);
  return all;
}

}  // namespace deadheat
