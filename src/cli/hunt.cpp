// SPDX-License-Identifier: Apache-2.0
// `deadheat hunt`: runs a program many times, each time with another order of its locks,
// and collects the races.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "cli/choice.h"
#include "cli/commands.h"
#include "cli/common_options.h"
#include "cli/duration.h"
#include "cli/hunt_again.h"
#include "cli/hunt_json.h"
#include "cli/hunt_loop.h"
#include "cli/hunt_screen.h"
#include "cli/hunt_state.h"
#include "cli/launch.h"
#include "cli/live_output.h"
#include "cli/messages.h"
#include "cli/program_words.h"
#include "cli/report_files.h"
#include "cli/run_settings.h"
#include "cli/store_writer.h"
#include "report/race_record.h"

namespace deadheat {

namespace {

constexpr std::uint32_t kDefaultRuns = 10;
constexpr std::uint32_t kDefaultRunsUntilQuiet = 1000;
constexpr char kDefaultDirectory[] = ".deadheat/hunt";

struct HuntOptions {
  HuntScreenOptions screen;
  RunSettings settings;
  std::optional<std::uint32_t> runs;
  std::optional<std::uint32_t> again;
  std::uint32_t jobs = 1;
  std::optional<std::uint32_t> until_quiet;
  std::optional<std::uint64_t> seed;
  std::optional<std::uint32_t> depth;
  HuntStrategy strategy = HuntStrategy::kDrfinder;
  std::chrono::milliseconds time_limit{60'000};
  std::string directory = kDefaultDirectory;
  ReportFileOptions files;
  StoreOptions store;
  bool show_output = false;
  bool force = false;
  CLI::App* command = nullptr;
};

constexpr char kHuntFooter[] = R"(The whole line: deadheat hunt [OPTIONS] [--] PROGRAM [ARGUMENTS...]
Options go before PROGRAM; all after it is the program's own. It must have been built as for
'deadheat run'. A race behind the hand-over of a lock is invisible as long as the threads
take the lock in the same order: each run reverses some of these orders. Races are shown when
they are new; known ones are counted.

Examples:
  deadheat hunt ./bank                           10 runs; the first one learns
  deadheat hunt --runs 200 --jobs 4 ./bank       more of them, four at once
  deadheat hunt --until-quiet 20 ./bank          until 20 runs in a row bring nothing new
  deadheat hunt --strategy portfolio ./bank      tries all strategies, and stays with what finds
  deadheat hunt --time-limit 10s -- ./server -v  a program that does not end by itself
  deadheat hunt --format json -o hunt.json ./bank
  deadheat hunt --again 7                        run 7 once more, with its locks in its order

Programs are run with empty input; what they print is kept beside the run. At the time limit
a program gets SIGTERM, two seconds later SIGKILL, which is no finding. A crash that nobody
asked for, a failed assertion and a deadlock are. The directory of the hunt is replaced by
the next one in it.

Exit codes: 0 nothing was found; 66 (see --exitcode) races or other findings; 1 the hunt
could not go on, or a report could not be written; 2 bad usage, or a program that cannot be
observed; 3 nothing was checked in any run; 126 the program cannot be started; 127 it was not
found; 130 interrupted, and nothing was found.)";

// `path` relative to where we are now, for a repetition from elsewhere.
std::string absolute_path(const std::string& path) {
  std::error_code error;
  const auto absolute = std::filesystem::absolute(path, error);
  return error ? path : absolute.string();
}

HuntSetup setup_of_hunt(const HuntOptions& options, std::vector<std::string> words) {
  HuntSetup setup;
  setup.command = std::move(words);
  std::error_code ignored;
  setup.working_directory = std::filesystem::current_path(ignored).string();
  for (const std::string& path : options.settings.suppressions) setup.suppressions.push_back(absolute_path(path));
  setup.strategy = options.strategy;
  setup.seed = options.seed ? *options.seed : 1 + std::random_device{}() % 1'000'000;
  setup.runs = options.runs.value_or(options.until_quiet ? kDefaultRunsUntilQuiet : kDefaultRuns);
  setup.depth = options.depth;
  setup.time_limit = options.time_limit;
  return setup;
}

// What the user types to see a run again.
std::string again_command(const HuntOptions& options) {
  if (options.directory == kDefaultDirectory) return "deadheat hunt --again";
  return fmt::format("deadheat hunt --directory '{}' --again", options.directory);
}

ExitCode hunt_failed(const Error& error, ExitCode code) {
  print_error(error.message);
  return code;
}

// What a hunt of all runs together has for other tools.
RaceReport report_of(const HuntLedger& ledger, const ReportFiles& files, const std::string& program) {
  std::vector<Sighting> races;
  for (const HuntRace& race : ledger.races()) races.push_back(sighting_of(race.race));
  return files.report_of(program, std::move(races));
}

ExitCode exit_code_after(const HuntLoop& loop, const RaceReport& report, const Status& status,
                         const RunSettings& settings) {
  if (report.failures() != 0 || !loop.ledger().findings().empty())
    return exit_code(settings.exit_code.value_or(kDefaultRaceExitCode));
  if (!status.ok()) return ExitCode::kFailure;
  if (loop.interruption()) return exit_code(128 + *loop.interruption());
  const HuntLedger& ledger = loop.ledger();
  const bool is_silent = ledger.silent_runs() == ledger.runs().size() && settings.exit_code != 0;
  return is_silent ? ExitCode::kNothingSeen : ExitCode::kSuccess;
}

ExitCode hunt_program(const HuntOptions& options, std::vector<std::string> words) {
  auto suppressions = read_suppressions(options.settings.suppressions);
  if (!suppressions.ok()) return hunt_failed(suppressions.error(), ExitCode::kFailure);
  ExitCode result = ExitCode::kFailure;
  auto plan =
      make_launch_plan(words, options.settings, options.force ? Uninstrumented::kRun : Uninstrumented::kRefuse, result);
  if (!plan) return result;
  symbolise_locally(*plan);
  const HuntSetup setup = setup_of_hunt(options, std::move(words));
  if (const Status status = check_named_store(options.store); !status.ok()) {
    return hunt_failed(status.error(), ExitCode::kFailure);
  }
  auto files = ReportFiles::open(options.files);
  if (!files.ok()) return hunt_failed(files.error(), ExitCode::kFailure);
  auto screen = HuntScreen::open(options.screen, again_command(options), setup.runs);
  if (!screen.ok()) return hunt_failed(screen.error(), ExitCode::kFailure);
  auto directory = HuntDirectory::create(options.directory, setup);
  if (!directory.ok()) {
    const bool is_refused = directory.error().code == ErrorCode::kInvalid;
    return hunt_failed(directory.error(), is_refused ? ExitCode::kUsage : ExitCode::kFailure);
  }
  const auto signals = WatchedSignals::open();
  if (!signals.ok()) return hunt_failed(signals.error(), ExitCode::kFailure);
  const HuntLimits limits{setup.runs, options.jobs, options.until_quiet, options.show_output};
  HuntLoop loop(setup, limits, *std::move(plan), std::move(suppressions).value(), *directory.value(), *screen.value(),
                *signals.value(), options.store);
  const Status status = loop.run();
  if (!status.ok()) print_error(status.error().message);
  const Status written = screen.value()->finish(loop.ledger(), setup);
  if (!written.ok()) return hunt_failed(written.error(), ExitCode::kFailure);
  const RaceReport report = report_of(loop.ledger(), files.value(), setup.command.front());
  if (const std::string compared = files.value().describe_baseline(report); !compared.empty()) print_note(compared);
  const Status others = files.value().write(report, [&] { return format_hunt_json(loop.ledger(), setup); });
  if (!others.ok()) return hunt_failed(others.error(), ExitCode::kFailure);
  if (const Status& kept = loop.store_status(); !kept.ok()) return hunt_failed(kept.error(), ExitCode::kFailure);
  return exit_code_after(loop, report, status, options.settings);
}

ExitCode hunt(HuntOptions& options) {
  const auto refused = [](std::string message) {
    return hunt_failed({ErrorCode::kInvalid, std::move(message)}, ExitCode::kUsage);
  };
  if (const Status status = add_environment(options.settings); !status.ok()) {
    return hunt_failed(status.error(), ExitCode::kUsage);
  }
  if (const Status status = check_settings(options.settings); !status.ok()) {
    return hunt_failed(status.error(), ExitCode::kUsage);
  }
  if (options.again) {
    if (!options.command->remaining().empty()) {
      return refused("--again repeats the program of the hunt; see 'deadheat hunt --help'");
    }
    return hunt_again(*options.again, options.directory, options.screen, options.settings);
  }
  auto words = program_words(*options.command);
  if (!words.ok()) return hunt_failed(words.error(), ExitCode::kUsage);
  const bool is_on_standard_output = options.screen.output.value_or("-") == "-";
  if (options.show_output && options.screen.format == ReportFormat::kJson && is_on_standard_output) {
    return refused(
        "--show-output would mix the program's output with the JSON document; give the latter a file with -o");
  }
  return hunt_program(options, std::move(words).value());
}

void add_limit_options(CLI::App& command, HuntOptions& options) {
  constexpr std::uint32_t kMostRuns = 1'000'000;
  command
      .add_option(
          "--runs", options.runs,
          fmt::format("How many runs (default {}, with --until-quiet {})", kDefaultRuns, kDefaultRunsUntilQuiet))
      ->check(CLI::Range(1U, kMostRuns))
      ->option_text("NUMBER");
  command.add_option("--until-quiet", options.until_quiet, "End after so many runs in a row without anything new")
      ->check(CLI::Range(1U, kMostRuns))
      ->option_text("NUMBER");
  command.add_option("--jobs", options.jobs, "Runs at once (default 1)")
      ->check(CLI::Range(1U, 256U))
      ->option_text("NUMBER");
  const auto check = [](const std::string& text) {
    const auto time = parse_duration(text);
    if (time && *time >= 1e3 && *time <= 7 * 24 * 3600e6) return std::string();
    return fmt::format("'{}' is no time limit: write 500ms, 10s, 5min or 2h", text);
  };
  command
      .add_option_function<std::string>(
          "--time-limit",
          [&options](const std::string& text) {
            options.time_limit = std::chrono::milliseconds(std::llround(parse_duration(text).value_or(0) / 1e3));
          },
          "Of one run, after which the program is ended (default 60s)")
      ->check(CLI::Validator(check, ""))
      ->option_text("TIME");
}

void add_schedule_options(CLI::App& command, HuntOptions& options) {
  add_choice<HuntStrategy>(
      command, "--strategy", options.strategy, hunt_strategy_choices(),
      "drfinder (default): reverse lock orders that were learned; pct: random priorities; contest: random "
      "delays; native: the system's order; portfolio: the one of them that has been finding new races");
  constexpr auto kLargestSeed = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  command.add_option("--seed", options.seed, "Make the decisions of an earlier hunt, which said its seed")
      ->check(CLI::Range(std::uint64_t{1}, kLargestSeed))
      ->option_text("NUMBER");
  command.add_option("--depth", options.depth, "Calls of the stack that relations are learned of (default 12)")
      ->check(CLI::Range(1U, 64U))
      ->option_text("NUMBER");
}

}  // namespace

void add_hunt_command(CLI::App& app, ExitCode& result) {
  auto options = std::make_shared<HuntOptions>();
  CLI::App* command = app.add_subcommand("hunt", "Run a program many times in other orders of its locks");
  options->command = command;
  command->footer(kHuntFooter);
  command->prefix_command();
  add_limit_options(*command, *options);
  add_schedule_options(*command, *options);
  command->add_option("--again", options->again, "Repeat this run of the hunt, and show its races in full")
      ->check(CLI::Range(1U, std::numeric_limits<std::uint32_t>::max()))
      ->option_text("RUN");
  command->add_option("--directory", options->directory, fmt::format("Of the hunt (default {})", kDefaultDirectory))
      ->option_text("DIR");
  add_suppressions_option(*command, options->settings.suppressions);
  command->add_flag("--show-output", options->show_output, "Pass on what the program prints, instead of keeping it");
  command->add_option("--exitcode", options->settings.exit_code, "Exit status when something was found (default 66)")
      ->check(CLI::Range(0, 255))
      ->option_text("NUMBER");
  add_format_option(*command, options->screen.format);
  command->add_option("-o,--output", options->screen.output, "Write the report to this file")->option_text("FILE");
  add_colour_option(*command, options->screen.colour);
  add_name_option(*command);
  add_report_file_options(*command, options->files);
  add_store_options(*command, options->store);
  command->add_flag("-q,--quiet", options->screen.quiet, "Show what is found and nothing else");
  command->add_flag("--force", options->force, "Run the program even if it was not built for race detection");
  command->callback([options, &result] { result = hunt(*options); });
}

}  // namespace deadheat
