// SPDX-License-Identifier: Apache-2.0
// All three scripts do the same: find the command by the words so far, then offer its
// commands and options, the words of a choice, or files. Words after a program are the
// program's own, for which files are as good a guess as any.
#include "cli/completion_text.h"

#include <fmt/format.h>

#include <string_view>

namespace deadheat {

namespace {

std::string joined(const std::vector<std::string>& words, std::string_view between) {
  return fmt::format("{}", fmt::join(words, between));
}

// For a text between single quotes, in any shell of the three.
std::string in_quotes(std::string_view text) {
  std::string result = "'";
  for (const char letter : text) {
    if (letter == '\'')
      result += "'\\''";
    else
      result += letter;
  }
  return result + "'";
}

// For fish, whose backslash works between quotes as well.
std::string in_quotes_for_fish(std::string_view text) {
  std::string result = "'";
  for (const char letter : text) {
    if (letter == '\'' || letter == '\\') result += '\\';
    result += letter;
  }
  return result + "'";
}

std::vector<std::string> words_after(const CommandFacts& command) {
  std::vector<std::string> words;
  for (const CommandFacts& below : command.commands) words.push_back(below.word());
  return words;
}

std::vector<std::string> option_names(const CommandFacts& command) {
  std::vector<std::string> names;
  for (const OptionFacts& option : command.options) names.insert(names.end(), option.names.begin(), option.names.end());
  return names;
}

// The words that may follow this one on the way to a command, as patterns of `case`:
// "'deadheat trace check' | ...".
std::string known_paths(const CommandFacts& root) {
  std::vector<std::string> paths;
  for (const CommandFacts* command : all_commands(root)) paths.push_back(in_quotes(command->name));
  return joined(paths, " | ");
}

constexpr char kBashHead[] = R"(# Completion of deadheat for bash, made by 'deadheat completion bash'.
_deadheat() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD - 1]}}" command=deadheat word
  local words="" options=""
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    case "$command $word" in
      {}) command="$command $word" ;;
    esac
  done
  COMPREPLY=()
  case "$command $previous" in
)";

constexpr char kBashTail[] = R"(  esac
  if [[ $current == -* ]]; then words="$options"; fi
  if [[ -n $words ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
  fi
}
complete -o filenames -F _deadheat deadheat
)";

constexpr char kZshHead[] = R"(#compdef deadheat
# Completion of deadheat for zsh, made by 'deadheat completion zsh'.
local command=deadheat word previous="${{words[CURRENT-1]}}"
local -a offered options
for word in "${{(@)words[2,CURRENT-1]}}"; do
  case "$command $word" in
    {}) command="$command $word" ;;
  esac
done
case "$command $previous" in
)";

constexpr char kZshTail[] = R"(esac
if [[ $PREFIX == -* ]]; then
  _describe -o option options
elif (( ${#offered} )); then
  _describe command offered
else
  _files
fi
)";

constexpr char kFishHead[] = R"(# Completion of deadheat for fish, made by 'deadheat completion fish'.
function __deadheat_command
    set -l command deadheat
    for word in (commandline -opc)[2..-1]
        if contains -- "$command $word" {}
            set command "$command $word"
        end
    end
    test "$command" = "$argv"
end
)";

// "name:what it is" for _describe, in which a colon ends the name.
std::string described(std::string_view name, std::string_view help) {
  std::string result;
  for (const char letter : name) {
    if (letter == ':') result += '\\';
    result += letter;
  }
  return in_quotes(fmt::format("{}:{}", result, help));
}

// The lines of a `case` for options with values: `choices(words)` and `files` are what
// the shell does then.
template <class Choices>
std::string value_cases(const CommandFacts& root, std::string_view indent, Choices&& offer, std::string_view files) {
  std::string text;
  for (const CommandFacts* command : all_commands(root)) {
    for (const OptionFacts& option : command->options) {
      if (option.value.empty() || option.names.empty()) continue;
      std::vector<std::string> patterns;
      for (const std::string& name : option.names) patterns.push_back(in_quotes(command->name + " " + name));
      std::string action;
      if (!option.choices.empty())
        action = offer(option.choices);
      else if (option.takes_path())
        action = files;
      else
        action = "return";
      text += fmt::format("{}{}) {} ;;\n", indent, joined(patterns, " | "), action);
    }
  }
  return text;
}

}  // namespace

std::string bash_completion(const CommandFacts& root) {
  std::string text = fmt::format(kBashHead, known_paths(root));
  text += value_cases(
      root, "    ",
      [](const std::vector<std::string>& choices) {
        return fmt::format(R"(mapfile -t COMPREPLY < <(compgen -W {} -- "$current"); return)",
                           in_quotes(joined(choices, " ")));
      },
      R"(mapfile -t COMPREPLY < <(compgen -f -- "$current"); return)");
  text += "  esac\n  case \"$command\" in\n";
  for (const CommandFacts* command : all_commands(root)) {
    text += fmt::format("    {}) words={} options={} ;;\n", in_quotes(command->name),
                        in_quotes(joined(words_after(*command), " ")), in_quotes(joined(option_names(*command), " ")));
  }
  return text + kBashTail;
}

std::string zsh_completion(const CommandFacts& root) {
  std::string text = fmt::format(kZshHead, known_paths(root));
  text += value_cases(
      root, "  ",
      [](const std::vector<std::string>& choices) {
        return fmt::format("compadd -- {}; return", joined(choices, " "));
      },
      "_files; return");
  text += "esac\ncase \"$command\" in\n";
  for (const CommandFacts* command : all_commands(root)) {
    std::vector<std::string> commands;
    std::vector<std::string> options;
    for (const CommandFacts& below : command->commands) commands.push_back(described(below.word(), below.summary));
    for (const OptionFacts& option : command->options) {
      for (const std::string& name : option.names) options.push_back(described(name, option.help));
    }
    text += fmt::format("  {})\n    offered=({})\n    options=({})\n    ;;\n", in_quotes(command->name),
                        joined(commands, " "), joined(options, " "));
  }
  return text + kZshTail;
}

std::string fish_completion(const CommandFacts& root) {
  std::vector<std::string> names;
  for (const CommandFacts* command : all_commands(root)) names.push_back(in_quotes_for_fish(command->name));
  std::string text = fmt::format(kFishHead, joined(names, " "));
  for (const CommandFacts* command : all_commands(root)) {
    const std::string when = fmt::format("complete -c deadheat -n \"__deadheat_command '{}'\"", command->name);
    for (const CommandFacts& below : command->commands) {
      text +=
          fmt::format("{} -f -a {} -d {}\n", when, in_quotes_for_fish(below.word()), in_quotes_for_fish(below.summary));
    }
    for (const OptionFacts& option : command->options) {
      if (option.names.empty()) continue;
      text += when;
      for (const std::string& name : option.names) {
        text += name.rfind("--", 0) == 0 ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
      if (!option.choices.empty())
        text += " -x -a " + in_quotes_for_fish(joined(option.choices, " "));
      else if (!option.value.empty())
        text += option.takes_path() ? " -r -F" : " -x";
      text += fmt::format(" -d {}\n", in_quotes_for_fish(option.help));
    }
  }
  return text;
}

}  // namespace deadheat
