// SPDX-License-Identifier: Apache-2.0
// `deadheat completion` and `deadheat man`: what the command line says about itself.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "cli/choice.h"
#include "cli/command_tree.h"
#include "cli/commands.h"
#include "cli/completion_text.h"
#include "cli/manual_page.h"
#include "cli/messages.h"
#include "cli/output.h"

namespace deadheat {

namespace {

constexpr char kCompletionFooter[] = R"(Installed packages have these scripts where the shells look for them.

Examples:
  deadheat completion bash > ~/.local/share/bash-completion/completions/deadheat
  deadheat completion zsh > ~/.zsh/completions/_deadheat
  deadheat completion fish > ~/.config/fish/completions/deadheat.fish
  source <(deadheat completion bash)             for this shell only

Exit codes: 0 done; 1 failure; 2 bad usage.)";

constexpr char kManFooter[] =
    R"(The page is made from what '--help' says, in the language of man(7). Installed packages have all
of them, for man(1).

Examples:
  deadheat man | man -l -                        the page of deadheat itself
  deadheat man trace check | man -l -            the page of a command
  deadheat man --directory ~/.local/share/man/man1

Exit codes: 0 done; 1 no such command, or failure; 2 bad usage.)";

using Completion = std::string (*)(const CommandFacts&);

ExitCode write_text(const std::optional<std::string>& path, const std::string& text) {
  auto output = Output::open(path);
  const Status status = output.ok() ? output.value().write(text) : Status(output.error());
  if (status.ok()) return ExitCode::kSuccess;
  print_error(status.error().message);
  return ExitCode::kFailure;
}

ExitCode write_all_pages(const CommandFacts& root, const std::string& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  for (const CommandFacts* command : all_commands(root)) {
    const std::string path = fmt::format("{}/{}.1", directory, manual_page_name(*command));
    const ExitCode code = write_text(path, manual_page(*command, root));
    if (code != ExitCode::kSuccess) return code;
  }
  return ExitCode::kSuccess;
}

ExitCode write_page(const CommandFacts& root, const std::vector<std::string>& words) {
  const std::string name = words.empty() ? root.name : fmt::format("{} {}", root.name, fmt::join(words, " "));
  for (const CommandFacts* command : all_commands(root)) {
    if (command->name == name) return write_text(std::nullopt, manual_page(*command, root));
  }
  print_error(fmt::format("there is no command '{}'; 'deadheat --help' lists the commands", name));
  return ExitCode::kFailure;
}

}  // namespace

void add_completion_command(CLI::App& app, ExitCode& result) {
  struct Request {
    std::string shell;
    std::optional<std::string> output;
  };
  auto request = std::make_shared<Request>();
  CLI::App* command = app.add_subcommand("completion", "Print a script that completes this command line in a shell");
  command->footer(kCompletionFooter);
  command->add_option("SHELL", request->shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember(std::vector<std::string>{"bash", "zsh", "fish"}))
      ->option_text("SHELL");
  command->add_option("-o,--output", request->output, "Write the script to this file")->option_text("FILE");
  command->callback([request, &app, &result] {
    Completion completion = bash_completion;
    if (request->shell == "zsh") completion = zsh_completion;
    if (request->shell == "fish") completion = fish_completion;
    result = write_text(request->output, completion(facts_of(app)));
  });
}

void add_man_command(CLI::App& app, ExitCode& result) {
  struct Request {
    std::vector<std::string> words;
    std::string directory;
  };
  auto request = std::make_shared<Request>();
  CLI::App* command = app.add_subcommand("man", "Print the manual page of a command");
  command->footer(kManFooter);
  command->add_option("COMMAND", request->words, "The command, as in 'trace check'; without it, deadheat itself")
      ->option_text("COMMAND...");
  command->add_option("--directory", request->directory, "Write the pages of all commands there")->option_text("DIR");
  command->callback([request, &app, &result] {
    const CommandFacts root = facts_of(app);
    result = request->directory.empty() ? write_page(root, request->words) : write_all_pages(root, request->directory);
  });
}

}  // namespace deadheat
