// SPDX-License-Identifier: Apache-2.0
#include "cli/manual_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>
#include <vector>

namespace deadheat {

namespace {

constexpr std::string_view kWholeLine = "The whole line: ";
constexpr std::string_view kExamples = "Examples:";
constexpr std::string_view kExitCodes = "Exit codes: ";

bool starts_with(std::string_view text, std::string_view beginning) {
  return text.substr(0, beginning.size()) == beginning;
}

// As it is to be read: a backslash is no request, a dash is the one that can be typed,
// and neither a dot nor an apostrophe begins a line.
std::string escaped(std::string_view text) {
  std::string result;
  bool at_begin = true;
  for (const char letter : text) {
    if (at_begin && (letter == '.' || letter == '\'')) result += "\\&";
    if (letter == '\\')
      result += "\\e";
    else if (letter == '-')
      result += "\\-";
    else
      result += letter;
    at_begin = letter == '\n';
  }
  return result;
}

// What a footer says, by its paragraphs.
struct Footer {
  std::string synopsis;
  std::vector<std::string> prose;
  std::string examples;
  std::string exit_codes;
};

Footer read_footer(std::string whole) {
  // The exit codes are a paragraph, also where they follow a line of prose.
  const auto codes = whole.find("\n" + std::string(kExitCodes));
  if (codes != std::string::npos) whole.insert(codes, "\n");
  std::string_view text = whole;
  Footer footer;
  while (!text.empty()) {
    const auto end = text.find("\n\n");
    std::string_view paragraph = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 2);
    while (!paragraph.empty() && paragraph.front() == '\n') paragraph.remove_prefix(1);
    if (starts_with(paragraph, kWholeLine)) {
      const auto line_end = paragraph.find('\n');
      footer.synopsis = paragraph.substr(kWholeLine.size(), line_end - kWholeLine.size());
      paragraph = line_end == std::string_view::npos ? std::string_view{} : paragraph.substr(line_end + 1);
    }
    if (starts_with(paragraph, kExamples)) {
      footer.examples = paragraph.substr(std::min(paragraph.size(), kExamples.size() + 1));
    } else if (starts_with(paragraph, kExitCodes)) {
      footer.exit_codes = paragraph.substr(kExitCodes.size());
    } else if (!paragraph.empty()) {
      footer.prose.emplace_back(paragraph);
    }
  }
  return footer;
}

std::string section(std::string_view title, std::string_view body) {
  return body.empty() ? std::string{} : fmt::format(".SH {}\n{}\n", title, body);
}

// Indented lines are tables and commands, which stay as they are.
std::string prose_text(const std::vector<std::string>& paragraphs) {
  std::string text;
  for (const std::string& paragraph : paragraphs) {
    const bool is_table = paragraph.find("\n  ") != std::string::npos || starts_with(paragraph, "  ");
    text += is_table ? fmt::format(".PP\n.nf\n{}\n.fi\n", escaped(paragraph))
                     : fmt::format(".PP\n{}\n", escaped(paragraph));
  }
  if (!text.empty()) text.pop_back();
  return text;
}

std::string options_text(const CommandFacts& command) {
  std::string text;
  for (const OptionFacts& option : command.options) {
    std::vector<std::string> names;
    for (const std::string& name : option.names) names.push_back("\\fB" + escaped(name) + "\\fR");
    std::string head = fmt::format("{}", fmt::join(names, ", "));
    if (!option.value.empty()) head += fmt::format("{}\\fI{}\\fR", names.empty() ? "" : " ", escaped(option.value));
    std::string help = option.help;
    if (!option.choices.empty()) help += fmt::format(" ({})", fmt::join(option.choices, ", "));
    text += fmt::format(".TP\n{}\n{}\n", head, escaped(help));
  }
  if (!text.empty()) text.pop_back();
  return text;
}

std::string commands_text(const CommandFacts& command) {
  std::string text;
  for (const CommandFacts& below : command.commands) {
    text += fmt::format(".TP\n\\fB{}\\fR(1)\n{}\n", escaped(manual_page_name(below)), escaped(below.summary));
  }
  if (!text.empty()) text.pop_back();
  return text;
}

std::string others_text(const CommandFacts& command, const CommandFacts& root) {
  std::vector<std::string> names;
  for (const CommandFacts* other : all_commands(root)) {
    if (other != &command) names.push_back("\\fB" + escaped(manual_page_name(*other)) + "\\fR(1)");
  }
  return fmt::format("{}", fmt::join(names, ",\n"));
}

std::string upper_case(std::string text) {
  for (char& letter : text) letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  return text;
}

}  // namespace

std::string manual_page_name(const CommandFacts& command) {
  std::string name = command.name;
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

std::string manual_page(const CommandFacts& command, const CommandFacts& root) {
  Footer footer = read_footer(command.footer);
  if (footer.synopsis.empty()) {
    footer.synopsis = command.name + (command.commands.empty() ? " [OPTIONS]" : " COMMAND");
    for (const OptionFacts& option : command.options) {
      if (option.names.empty()) footer.synopsis += " " + option.value;
    }
  }
  const std::string name = manual_page_name(command);
  std::string text =
      fmt::format(".TH {} 1 \"\" \"Deadheat {}\" \"Deadheat\"\n", escaped(upper_case(name)), DEADHEAT_VERSION);
  text += section("NAME", fmt::format("{} \\- {}", escaped(name), escaped(command.summary)));
  text += section("SYNOPSIS", fmt::format(".nf\n{}\n.fi", escaped(footer.synopsis)));
  text += section("DESCRIPTION", footer.prose.empty() ? escaped(command.summary) + "." : prose_text(footer.prose));
  text += section("COMMANDS", commands_text(command));
  text += section("OPTIONS", options_text(command));
  text += section("EXIT STATUS", escaped(footer.exit_codes));
  text += section("EXAMPLES", footer.examples.empty() ? "" : fmt::format(".nf\n{}\n.fi", escaped(footer.examples)));
  return text + section("SEE ALSO", others_text(command, root));
}

}  // namespace deadheat
