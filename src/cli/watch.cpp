// SPDX-License-Identifier: Apache-2.0
// `deadheat watch`: looks for races in a program as it is. Nothing is compiled anew: an agent
// is preloaded into it, stops at random memory instructions, and sets hardware breakpoints on
// what they touch.
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/choice.h"
#include "cli/commands.h"
#include "cli/duration.h"
#include "cli/install_layout.h"
#include "cli/launch.h"
#include "cli/live_output.h"
#include "cli/messages.h"
#include "cli/preload_check.h"
#include "cli/program_words.h"
#include "cli/rate.h"
#include "cli/run_child.h"
#include "cli/watch_session.h"
#include "watch/attach/inject.h"
#include "watch/attach/process_view.h"
#include "watch/attach/target_modules.h"
#include "watch/attach/traced_process.h"
#include "watch/choose_modules.h"
#include "watch/find_sites.h"
#include "watch/refuse_runtime.h"
#include "watch/site_file.h"

namespace deadheat {

namespace {

enum class WatchMethod : std::uint8_t { kConfirm, kClock, kCollide };

struct WatchOptions {
  LiveOutputOptions output;
  std::vector<std::string> suppressions;
  std::vector<std::string> modules;
  WatchMethod method = WatchMethod::kConfirm;
  std::uint32_t rate = 100;
  double limit_us = 15'000;
  double stall_us = 1000;
  double stops = 0.005;
  double processor = 0.005;
  std::optional<double> duration_us;
  bool until_race = false;
  std::uint64_t seed = 1;
  std::optional<int> exit_code;
  std::optional<pid_t> process;  // that runs already
  bool despite_seccomp = false;
  std::optional<std::string> started;  // by what the line names
  CLI::App* command = nullptr;
};

constexpr char kWatchFooter[] = R"(The whole line: deadheat watch [OPTIONS] [--] PROGRAM [ARGUMENTS...]
            or: deadheat watch [OPTIONS] --pid NUMBER
The program is taken as it is: nothing is built anew, and no debug information is needed
(with it the report has lines, without it module and offset).

Examples:
  deadheat watch ./server
  deadheat watch --duration 30s ./server         stop watching after half a minute
  deadheat watch --duration 30s --pid 4711       watch a process that runs already
  deadheat watch --until-race ./server           or at the first race
  deadheat watch --program ./server ./start.sh   in the program that a script starts
  deadheat watch --module 'libfoo*' ./server     also in this library
  deadheat watch --method collide ./server       delays only, as DataCollider does
  deadheat watch --watches 500 --limit 2ms ./server  more watches, each for a shorter time

Some hundred times a second an instruction of the program is stopped at, and what it touches
is watched by a hardware breakpoint in all other threads. Who touches it meanwhile is a
suspect if the first thread has not synchronised since, and a race if it was stopped right
before its access. 'confirm' stops the threads of suspects; only what is confirmed is
reported as a race, and suspects are counted.

A race that is not reported may still be there: this is sampling. Needs hardware breakpoints
(perf_event_open); if they are refused, a line says so and the program runs unwatched.

With --pid the agent is put into the process while its threads stand still for some
milliseconds, and taken out again at the end or at Ctrl-C; the process goes on. It must be
yours, or you must be root.

Exit codes: 66 (see --exitcode) races found; otherwise 0 or the program's own, or 128 + n if
signal n killed it; 3 nothing was looked at; 1 the process cannot be watched, or a report
could not be written; 2 bad usage; 126 the program cannot be started; 127 it was not found.)";

std::string_view word_of(WatchMethod method) {
  switch (method) {
    case WatchMethod::kConfirm:
      return "confirm";
    case WatchMethod::kClock:
      return "clock";
    case WatchMethod::kCollide:
      return "collide";
  }
  return "";
}

// The table of sites in memory that the agent can open by name, as long as we live.
class SharedTable {
 public:
  SharedTable() = default;
  SharedTable(const SharedTable&) = delete;
  SharedTable& operator=(const SharedTable&) = delete;
  ~SharedTable() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  [[nodiscard]] Status fill(const std::vector<std::byte>& bytes) {
    descriptor_ = memfd_create("deadheat-sites", MFD_CLOEXEC);
    std::size_t written = 0;
    while (descriptor_ >= 0 && written < bytes.size()) {
      const ssize_t size = write(descriptor_, bytes.data() + written, bytes.size() - written);
      if (size <= 0) break;
      written += static_cast<std::size_t>(size);
    }
    if (descriptor_ >= 0 && written == bytes.size()) return {};
    return Error{ErrorCode::kIo, "cannot make memory for the table of sites: " + system_message(errno)};
  }
  [[nodiscard]] std::string name() const { return fmt::format("/proc/{}/fd/{}", getpid(), descriptor_); }

 private:
  int descriptor_ = -1;
};

// Of the program and the libraries that were named. Errors: those of choose_modules() and
// find_sites(); kInvalid if there is nothing to watch.
Result<std::vector<std::byte>> site_table_of(const std::string& path, const WatchOptions& options) {
  const char* const set_path = std::getenv("LD_LIBRARY_PATH");
  const std::string library_path = set_path == nullptr ? "" : set_path;
  for (const Status& status : {watch::refuse_runtime_of(path, library_path), check_preload(path)}) {
    if (!status.ok()) return status.error();
  }
  const auto modules = watch::choose_modules(path, options.modules, library_path);
  if (!modules.ok()) return modules.error();
  std::vector<watch::ModuleSites> all;
  std::size_t count = 0;
  for (const std::string& module : modules.value()) {
    auto found = watch::find_sites(module);
    if (!found.ok()) return found.error();
    count += found.value().module.sites.size();
    all.push_back(std::move(found).value().module);
  }
  if (count == 0) return Error{ErrorCode::kInvalid, fmt::format("'{}' has no memory instructions to watch", path)};
  return watch::format_site_table(all);
}

Error cannot_watch_file(pid_t process, std::string_view why) {
  return {ErrorCode::kIo, fmt::format("process {} {}: restart it to watch it", process, why)};
}

// The same of a running process, by the files as it sees them.
Result<std::vector<std::byte>> site_table_of(pid_t process, const WatchOptions& options, std::string& program) {
  for (const auto reason_against : {watch::reason_against_tracing, watch::reason_against_view}) {
    if (std::string reason = reason_against(process); !reason.empty()) return Error{ErrorCode::kIo, reason};
  }
  if (const Status status = watch::refuse_runtime_of(process); !status.ok()) return status.error();
  const auto modules = watch::choose_modules(process, options.modules);
  if (!modules.ok()) return modules.error();
  program = modules.value().front();
  if (program.ends_with(" (deleted)")) {
    return cannot_watch_file(process, "runs a program whose file was replaced or deleted since");
  }
  std::vector<watch::ModuleSites> all;
  std::size_t count = 0;
  for (const std::string& module : modules.value()) {
    auto found = watch::find_sites(watch::file_of_process(process, module));
    if (!found.ok()) return found.error();
    count += found.value().module.sites.size();
    all.push_back(std::move(found).value().module);
    all.back().path = module;
  }
  if (count == 0) return Error{ErrorCode::kInvalid, fmt::format("'{}' has no memory instructions to watch", program)};
  return watch::format_site_table(all);
}

std::string agent_options(const WatchOptions& options) {
  return fmt::format("method={}:rate={}:limit_us={:.0f}:stall_us={:.0f}:stall_share={:.0f}:cpu_share={:.0f}:seed={}",
                     word_of(options.method), options.rate, options.limit_us, options.stall_us, 1e6 * options.stops,
                     1e6 * options.processor, options.seed);
}

ExitCode watch_process(WatchOptions& options, pid_t process) {
  if (!options.command->remaining().empty()) {
    print_error("--pid watches a running process: it takes no program");
    return ExitCode::kUsage;
  }
  auto suppressions = read_suppressions(options.suppressions);
  if (!suppressions.ok()) return failed(suppressions.error(), ExitCode::kFailure);
  const auto layout = find_install_layout();
  if (!layout.ok()) return failed(layout.error(), ExitCode::kFailure);
  std::string program;
  auto table = site_table_of(process, options, program);
  if (!table.ok()) return failed(table.error(), ExitCode::kFailure);
  StoredRun stored;
  stored.mode = "watch";
  stored.program = program;
  auto output = LiveOutput::open(options.output, STDERR_FILENO, std::move(stored));
  if (!output.ok()) return failed(output.error(), ExitCode::kFailure);
  // From here on we cannot be interrupted in the middle of something.
  const auto signals = WatchedSignals::open();
  if (!signals.ok()) return failed(signals.error(), ExitCode::kFailure);
  auto agent = watch::InjectedAgent::inject({process, layout.value().watch_agent(), std::move(table).value(),
                                             agent_options(options), options.despite_seccomp});
  if (!agent.ok()) return failed(agent.error(), ExitCode::kFailure);
  WatchSession session({options.duration_us, options.until_race, options.output.quiet}, std::move(suppressions).value(),
                       std::move(output).value());
  return session.watch(*agent.value(), *signals.value(), process, program,
                       options.exit_code.value_or(kDefaultRaceExitCode));
}

ExitCode watch_program(WatchOptions& options) {
  if (options.process) return watch_process(options, *options.process);
  const auto words = program_words(*options.command);
  if (!words.ok()) return failed(words.error(), ExitCode::kUsage);
  auto suppressions = read_suppressions(options.suppressions);
  if (!suppressions.ok()) return failed(suppressions.error(), ExitCode::kFailure);
  const Lookup lookup = find_program(words.value().front());
  if (lookup.path.empty()) {
    print_error(lookup.error.message);
    return exit_code(static_cast<int>(lookup.error.failure));
  }
  const auto layout = find_install_layout();
  if (!layout.ok()) return failed(layout.error(), ExitCode::kFailure);
  if (std::string reason = watch::reason_against_own_view(); !reason.empty()) {
    return failed({ErrorCode::kUnsupported, std::move(reason)}, ExitCode::kFailure);
  }
  // A script has no instructions; it says itself what it starts.
  const auto table = site_table_of(options.started.value_or(lookup.path), options);
  if (!table.ok() && table.error().code == ErrorCode::kMalformed && !options.started) {
    print_note("if that is a script, name the program that it starts: --program FILE");
  }
  if (!table.ok()) return failed(table.error(), ExitCode::kFailure);
  SharedTable shared;
  if (const Status status = shared.fill(table.value()); !status.ok()) return failed(status.error(), ExitCode::kFailure);
  StoredRun stored;
  stored.mode = "watch";
  stored.program = lookup.path;
  stored.arguments = stored_arguments(words.value());
  auto output = LiveOutput::open(options.output, STDERR_FILENO, std::move(stored));
  if (!output.ok()) return failed(output.error(), ExitCode::kFailure);

  ChildRequest child;
  child.path = lookup.path;
  child.arguments = words.value();
  child.descriptor_variable = "DEADHEAT_WATCH_SOCKET";
  child.settings = {preload_setting(layout.value().watch_agent()), "DEADHEAT_WATCH_SITES=" + shared.name(),
                    "DEADHEAT_WATCH_OPTIONS=" + agent_options(options), filters_setting()};
  child.writes_to_errors = output.value().takes_standard_output();
  symbolise_locally(child);
  const auto signals = WatchedSignals::open();
  if (!signals.ok()) return failed(signals.error(), ExitCode::kFailure);
  const ChildProcess::Started started = ChildProcess::start(child, *signals.value());
  if (started.child == nullptr) {
    print_error(started.error.message);
    return exit_code(static_cast<int>(started.error.failure));
  }
  WatchSession session({options.duration_us, options.until_race, options.output.quiet}, std::move(suppressions).value(),
                       std::move(output).value());
  return session.watch(*started.child, *signals.value(), child.path, options.exit_code.value_or(kDefaultRaceExitCode));
}

void add_time_option(CLI::App& command, const std::string& name, double least_us, double most_us,
                     std::function<void(double)> take, const std::string& help) {
  const auto check = [=](const std::string& text) {
    const auto time = parse_duration(text);
    if (time && *time >= least_us && *time <= most_us) return std::string();
    return fmt::format("'{}' is no time for {}: write 500us, 15ms or 30s", text, name);
  };
  command
      .add_option_function<std::string>(
          name, [take](const std::string& text) { take(parse_duration(text).value_or(0)); }, help)
      ->check(CLI::Validator(check, ""))
      ->option_text("TIME");
}

}  // namespace

void add_watch_command(CLI::App& app, ExitCode& result) {
  auto options = std::make_shared<WatchOptions>();
  CLI::App* command = app.add_subcommand("watch", "Watch a program that was not built for race detection");
  options->command = command;
  command->footer(kWatchFooter);
  command->prefix_command();
  static const Choices<WatchMethod> methods = {
      {"confirm", WatchMethod::kConfirm}, {"clock", WatchMethod::kClock}, {"collide", WatchMethod::kCollide}};
  add_choice<WatchMethod>(*command, "--method", options->method, methods,
                          "confirm (default): clock races are confirmed by a short stop; clock: suspects only, no "
                          "stops; collide: every watch stops its thread");
  command->add_option("--watches", options->rate, "Watches per second, of the whole program (default 100)")
      ->check(CLI::Range(1U, 10'000U))
      ->option_text("NUMBER");
  add_share_option(
      *command, "--stops", [options](double share) { options->stops = share; },
      "How much of the time that they run threads may be stopped (default 0.5%)");
  add_share_option(
      *command, "--cpu", [options](double share) { options->processor = share; },
      "How much of the processor time the agent may cost (default 0.5%)");
  constexpr double kDay = 24 * 3600e6;
  add_time_option(
      *command, "--limit", 100, 1e6, [options](double time) { options->limit_us = time; },
      "Of one watch (default 15ms)");
  add_time_option(
      *command, "--stall", 10, 1e5, [options](double time) { options->stall_us = time; },
      "How long a thread is stopped to confirm a race (default 1ms)");
  add_time_option(
      *command, "--duration", 1e5, 7 * kDay, [options](double time) { options->duration_us = time; },
      "Stop watching after this time; the program goes on");
  command->add_option("--pid", options->process, "Watch this process, which runs already; it goes on afterwards")
      ->check(CLI::Range(1, 1 << 22))
      ->option_text("NUMBER");
  command->add_option("--program", options->started, "Watch this program when the one on the line, a script, starts it")
      ->option_text("FILE");
  command->add_flag("--despite-seccomp", options->despite_seccomp,
                    "With --pid: also a process that confines its system calls, whose filter may end it");
  command->add_flag("--until-race", options->until_race, "Stop watching at the first race; the program goes on");
  command->add_option("--module", options->modules, "Also watch libraries of this name; * and ? as in a shell")
      ->allow_extra_args(false)
      ->option_text("PATTERN");
  command->add_option("--seed", options->seed, "Decides which instructions are stopped at")->option_text("NUMBER");
  add_live_options(*command, options->output, options->suppressions);
  command->add_flag("-q,--quiet", options->output.quiet, "Show races and nothing else");
  command
      ->add_option("--exitcode", options->exit_code,
                   "Exit status when races were found (default 66); 0 keeps the program's own")
      ->check(CLI::Range(0, 255))
      ->option_text("NUMBER");
  command->callback([options, &result] { result = watch_program(*options); });
}

}  // namespace deadheat
