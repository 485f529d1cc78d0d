// SPDX-License-Identifier: Apache-2.0
// `deadheat`: parses the command line and runs one subcommand. The subcommands
// are in files of their own; see commands.h.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "cli/build_facts.h"
#include "cli/commands.h"
#include "cli/compile.h"
#include "cli/exit_codes.h"
#include "cli/messages.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "store/store_address.h"
#include "trace/text_words.h"

namespace deadheat {
namespace {

constexpr char kDescription[] = "Deadheat finds data races in multithreaded programs.";

constexpr char kMainFooter[] = R"(Examples:
  deadheat c++ -g program.cpp -o program          compile with race detection
  deadheat run ./program                          run it and show its races
  deadheat run --rate 3% ./program                sample it, at a fraction of the cost
  deadheat hunt --runs 50 ./program               run it in other orders of its locks
  deadheat watch ./server                         watch a program as it is
  deadheat record -o DIR ./server                 record it, to be analysed later
  deadheat serve                                  all races so far, in a browser
  deadheat races list                             races of all runs so far
  deadheat doctor                                 what works on this machine?
  deadheat analyze run.trace                      show the races of a trace
  deadheat analyze run.trace --format json        the same for machines
  deadheat trace check run.trace                  is the trace well formed?
  deadheat trace stats run.trace                  what is in it?
  deadheat trace convert run.std run.dht          from RAPID's format to ours
  deadheat trace generate --threads 8 big.dht     make one up, for tests and benchmarks

Exit codes: 0 success, no race; 66 races found; 1 bad input or failure; 2 bad usage; 3 nothing
was looked at.
'deadheat COMMAND --help' tells more about each command.)";

constexpr char kTraceFooter[] = R"(Examples:
  deadheat trace check run.trace
  deadheat trace stats run.trace
  deadheat trace convert run.trace run.dht
  deadheat trace generate --preset lock-heavy --events 1000000 big.dht)";

// CLI11 calls a mistyped subcommand an unexpected argument; we can do better.
// Returns whether the command line was refused.
bool refuse_unknown_command(const CLI::App& parent, const std::string& word, std::string_view path) {
  const std::vector<const CLI::App*> commands = parent.get_subcommands({});
  std::vector<std::string> names;
  names.reserve(commands.size());
  for (const CLI::App* command : commands) names.push_back(command->get_name());
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  const bool known = std::find(names.begin(), names.end(), word) != names.end();
  if (known || word.empty() || word.front() == '-') return false;
  print_error(fmt::format("unknown command '{}'{}; '{} --help' lists the commands", word,
                          text::did_you_mean(word, candidates), path));
  return true;
}

bool refuse_unknown_commands(CLI::App& app, const std::vector<std::string>& words) {
  if (words.empty()) return false;
  if (refuse_unknown_command(app, words[0], "deadheat")) return true;
  if (words.size() < 2 || (words[0] != "trace" && words[0] != "races")) return false;
  return refuse_unknown_command(*app.get_subcommand(words[0]), words[1], "deadheat " + words[0]);
}

ExitCode print_text(const std::string& text) {
  auto output = Output::open(std::nullopt);
  const Status status = output.value().write(text);
  if (status.ok()) return ExitCode::kSuccess;
  print_error(status.error().message);
  return ExitCode::kFailure;
}

// Every user of the machine can read our arguments. Ours are copies from here on, and of the originals passwords in
// addresses of stores are taken away. The program that we start gets its words from the copies.
std::vector<char*> take_arguments(int argument_count, char** arguments) {
  static std::vector<std::string> copies(arguments, arguments + argument_count);
  std::vector<char*> pointers;
  for (std::size_t at = 0; at < copies.size(); ++at) {
    pointers.push_back(copies[at].data());
    const std::string_view word = copies[at];
    const std::size_t begin = word.starts_with("--") && word.find('=') != word.npos ? word.find('=') + 1 : 0;
    const std::string_view place = word.substr(begin);
    if (!is_postgres_url(place)) continue;
    std::string shown = public_address(place);
    shown.resize(place.size());
    std::memcpy(arguments[at] + begin, shown.data(), shown.size());
  }
  pointers.push_back(nullptr);
  return pointers;
}

// The innermost command that was named, for "see ... --help".
std::string named_command(const CLI::App& app) {
  std::string path = "deadheat";
  for (const CLI::App* current = &app; !current->get_subcommands().empty();) {
    current = current->get_subcommands().front();
    path += " " + current->get_name();
  }
  return path;
}

ExitCode run_command(int argument_count, char** arguments) {
  CLI::App app{kDescription, "deadheat"};
  app.footer(kMainFooter);
  app.set_version_flag("--version", kBuildFacts, "Print the version and how it was built");
  app.require_subcommand(1);
  ExitCode result = ExitCode::kSuccess;
  add_compile_commands(app);
  add_run_command(app, result);
  add_hunt_command(app, result);
  add_watch_command(app, result);
  add_record_command(app, result);
  add_report_command(app, result);
  add_serve_command(app, result);
  add_races_command(app, result);
  add_tune_command(app, result);
  add_analyze_command(app, result);
  add_doctor_command(app, result);
  CLI::App* trace = app.add_subcommand("trace", "Check, describe, convert and generate traces");
  trace->footer(kTraceFooter);
  trace->require_subcommand(1);
  add_trace_check_command(*trace, result);
  add_trace_stats_command(*trace, result);
  add_trace_convert_command(*trace, result);
  add_trace_generate_command(*trace, result);
  add_completion_command(app, result);
  add_man_command(app, result);

  if (argument_count <= 1) {
    print_text(app.help());
    return ExitCode::kUsage;
  }
  if (refuse_unknown_commands(app, {arguments + 1, arguments + argument_count})) return ExitCode::kUsage;
  keep_double_dash(argument_count, arguments);
  try {
    app.parse(argument_count, arguments);
  } catch (const CLI::CallForHelp&) {
    return print_text(app.help());
  } catch (const CLI::CallForVersion&) {
    return print_text(kBuildFacts);
  } catch (const CLI::ParseError& error) {
    print_error(fmt::format("{}; see '{} --help'", error.what(), named_command(app)));
    return ExitCode::kUsage;
  }
  return result;
}

}  // namespace
}  // namespace deadheat

int main(int argument_count, char** arguments) {
  using deadheat::ExitCode;
  if (const auto status = deadheat::run_as_compiler(argument_count, arguments)) return static_cast<int>(*status);
  deadheat::reserve_standard_descriptors();
  // A reader that goes away must not cost us the exit code; see output.h.
  std::signal(SIGPIPE, SIG_IGN);
  ExitCode result = ExitCode::kFailure;
  try {
    result = deadheat::run_command(argument_count, deadheat::take_arguments(argument_count, arguments).data());
  } catch (const std::bad_alloc&) {
    std::fputs("deadheat: error: out of memory\n", stderr);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "deadheat: internal error: %s\n", error.what());
  }
  return static_cast<int>(result);
}
