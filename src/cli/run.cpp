// SPDX-License-Identifier: Apache-2.0
// `deadheat run`: starts a program that was built with a race detector's hooks,
// and reports the races of that run as they are found.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/launch.h"
#include "cli/live_output.h"
#include "cli/messages.h"
#include "cli/program_words.h"
#include "cli/run_child.h"
#include "cli/run_settings.h"
#include "report/describe.h"
#include "report/live_report.h"
#include "report/trace_recorder.h"

namespace deadheat {

namespace {

struct RunOptions {
  LiveOutputOptions output;
  RunSettings settings;
  std::optional<std::string> record;
  bool force = false;
  bool no_colour = false;
  CLI::App* command = nullptr;
};

constexpr char kRunFooter[] = R"(The whole line: deadheat run [OPTIONS] [--] PROGRAM [ARGUMENTS...]
Options go before PROGRAM; all after it is the program's own. The program must have been
built with 'deadheat c++' or 'deadheat cc', or by g++ with -fsanitize=thread. Races are
shown on standard error as they are found.

Examples:
  deadheat c++ -g -O1 bank.cpp -o bank && deadheat run ./bank
  deadheat run --suppressions known.supp -- ./bank --accounts 100
  deadheat run --format json -o races.json ./bank
  deadheat run --html races.html ./bank          a page for a browser
  deadheat run --sarif races.sarif --junit races.xml --baseline known.json ./bank
  deadheat run --record bank.dht ./bank && deadheat analyze bank.dht
  deadheat run --rate 3% ./bank                  sample: much cheaper, finds some
  deadheat run --budget 5% ./bank                the same, the rate follows from the cost
  deadheat run --sampler cold ./bank             look at code that rarely runs

With --rate or --budget random periods are sampled. A race is found if its first access
was sampled: one that occurs once in a run, with a probability equal to the rate. What
one run and many runs say is told at the end. 'deadheat tune' changes rate and budget of
a running program.

With --sampler cold each function is looked at in each thread when it begins to be used,
then in ever fewer of its calls, down to one in a thousand. Races between hot places are
missed more often than not; there is no guarantee. The program must have been built with
calls: by g++, or with 'deadheat c++ --pass=no'.

Suppressions are those of TSan: 'race:pattern' hides races with the pattern in a
function, file or module of either stack, 'race_top:' looks at the innermost frame only,
'called_from_lib:' at the module. DEADHEAT_OPTIONS in the environment sets options of the
runtime; those given here win.

Exit codes: 66 (see --exitcode) races found that are not in the --baseline, however the
program ended; otherwise the program's own, or 128 + n if signal n killed it; 3 nothing was
checked and the program ended with 0; 1 a report could not be written; 2 bad usage, or a
program that cannot be observed; 126 the program cannot be started; 127 it was not found.
Every run is kept in a store that 'deadheat races' shows.)";

bool is_of_recording(const RawPacket& packet) {
  return std::holds_alternative<EventsPacket>(packet.body) || std::holds_alternative<SitesPacket>(packet.body) ||
         std::holds_alternative<RecordingPacket>(packet.body) || std::holds_alternative<ForkingPacket>(packet.body);
}

// One run, from the first packet to the summary.
class Run {
 public:
  Run(const RunOptions& options, Suppressions suppressions, LiveOutput output, std::unique_ptr<TraceRecorder> recorder)
      : options_(options),
        report_(std::move(suppressions)),
        output_(std::move(output)),
        recorder_(std::move(recorder)) {}

  ExitCode watch(ChildProcess& child, const WatchedSignals& signals, const std::string& program) {
    // A trace that grows over the user's limit is an error of that file, not our end.
    std::signal(SIGXFSZ, SIG_IGN);
    output_.begin();
    const ChildEnd end = child.watch(
        signals, [this](std::span<const std::byte> bytes, int descriptor) { return take(bytes, descriptor); });
    finish_recording();
    const LiveEnding ending = describe(end, program);
    const Status written = output_.finish(report_, ending);
    if (!written.ok()) return failed(written.error(), ExitCode::kFailure);
    return has_recording_failed_ ? ExitCode::kFailure : exit_code_after(end);
  }

 private:
  AfterPacket take(std::span<const std::byte> bytes, int descriptor) {
    const auto packet = parse_packet(bytes);
    if (!packet.ok()) {
      if (damaged_++ == 0) print_warning(fmt::format("a report is damaged: {}", packet.error().message));
      return AfterPacket::kGoOn;
    }
    if (recorder_ != nullptr) record(packet.value(), descriptor);
    const LiveReport::News news = report_.add(packet.value());
    if (news.race != nullptr && recorder_ != nullptr) recorder_->add_names(news.race->live);
    output_.show(news, packet.value().process);
    const bool ends = news.race != nullptr && options_.settings.halt_on_error && !output_.is_known(*news.race);
    return ends ? AfterPacket::kEndProgram : AfterPacket::kGoOn;
  }

  void record(const RawPacket& packet, int descriptor) {
    if (!is_of_recording(packet)) return;
    const Status status = recorder_->add(packet, report_.modules_of(packet.process), report_.symbolizer(), descriptor);
    if (!status.ok()) recording_failed(status.error());
  }

  void recording_failed(const Error& error) {
    has_recording_failed_ = true;
    print_error(fmt::format("recording to '{}' ended after {}: {}", *options_.record,
                            counted(recorder_->event_count(), "event"), error.message));
  }

  void finish_recording() {
    if (recorder_ == nullptr) return;
    const auto modules_of = [this](std::uint32_t process) -> const ModuleMap& { return report_.modules_of(process); };
    const Status status = recorder_->close(modules_of, report_.symbolizer());
    if (!status.ok()) recording_failed(status.error());
    const std::vector<std::string>& others = recorder_->other_files();
    if (others.empty() || options_.output.quiet) return;
    const std::string names = fmt::format("{}", fmt::join(others | std::views::take(3), ", "));
    if (others.size() == 1) return print_note("another process was recorded in a file of its own: " + names);
    print_note(fmt::format("{} other processes were recorded in files of their own: {}{}", others.size(), names,
                           others.size() > 3 ? ", ..." : ""));
  }

  LiveEnding describe(const ChildEnd& end, const std::string& program) const {
    LiveEnding ending;
    ending.program = program;
    ending.sampling_requested = options_.settings.sampling.is_on();
    ending.cold_sampling_requested = options_.settings.sampling.sampler == Sampler::kCold;
    if (end.was_ended) {
      ending.words = "; program was ended at the first race";
    } else if (WIFSIGNALED(end.wait_status)) {
      ending.signal = WTERMSIG(end.wait_status);
      ending.words = fmt::format("; program was killed by signal {} ({})", *ending.signal, strsignal(*ending.signal));
    } else {
      ending.exit_status = WEXITSTATUS(end.wait_status);
      ending.words = fmt::format("; program ended with status {}", *ending.exit_status);
    }
    if (options_.settings.is_off) {
      ending.nothing_seen = "nothing was checked, as report_bugs=0 asks";
    } else if (report_.process_count() == 0) {
      ending.nothing_seen = "nothing was checked";
      ending.problem =
          "nothing that ran was built for race detection, or the detector could not start (then a line above says why)";
    } else if (damaged_ != 0) {
      ending.problem = counted(damaged_, "report") + " could not be read";
    } else if (end.descendants_left) {
      ending.problem = "a process that the program started is still running; its later races are not reported";
    }
    return ending;
  }

  ExitCode exit_code_after(const ChildEnd& end) {
    const int for_races = options_.settings.exit_code.value_or(kDefaultRaceExitCode);
    const bool has_races = output_.failing_count(report_) != 0 && for_races != 0;
    if (has_races) return exit_code(for_races);
    if (WIFSIGNALED(end.wait_status) && !end.was_ended) return exit_code(128 + WTERMSIG(end.wait_status));
    if (end.was_ended) return exit_code(kDefaultRaceExitCode);
    const int status = WEXITSTATUS(end.wait_status);
    const bool is_silent = report_.process_count() == 0 && status == 0 && for_races != 0 && !options_.settings.is_off;
    return is_silent ? ExitCode::kNothingSeen : exit_code(status);
  }

  const RunOptions& options_;
  LiveReport report_;
  LiveOutput output_;
  std::unique_ptr<TraceRecorder> recorder_;
  std::uint64_t damaged_ = 0;
  bool has_recording_failed_ = false;
};

// The words of log_path are TSan's: a path gets the number of the process.
void set_log_path(const std::optional<std::string>& path, LiveOutputOptions& output) {
  if (!path || *path == "stderr" || output.output || output.format == ReportFormat::kJson) return;
  if (*path == "stdout") {
    output.output = "-";
  } else {
    output.log_path = *path + ".%p";
  }
}

ExitCode run_program(RunOptions& options) {
  const auto words = program_words(*options.command);
  if (!words.ok()) return failed(words.error(), ExitCode::kUsage);
  if (options.no_colour) options.output.colour = ColourChoice::kNever;
  options.settings.stats = options.output.stats;
  options.settings.record = options.record.has_value();
  if (const Status status = add_environment(options.settings); !status.ok()) {
    return failed(status.error(), ExitCode::kUsage);
  }
  if (!options.output.log_path) set_log_path(options.settings.log_path, options.output);
  if (const Status status = check_settings(options.settings); !status.ok()) {
    return failed(status.error(), ExitCode::kUsage);
  }
  // What is wrong with the command line comes before what is wrong with the program.
  auto suppressions = read_suppressions(options.settings.suppressions);
  if (!suppressions.ok()) return failed(suppressions.error(), ExitCode::kFailure);
  ExitCode result = ExitCode::kFailure;
  auto plan = make_launch_plan(words.value(), options.settings,
                               options.force ? Uninstrumented::kRun : Uninstrumented::kRefuse, result);
  if (!plan) return result;
  StoredRun stored;
  stored.mode = "run";
  stored.program = plan->path;
  stored.arguments = stored_arguments(words.value());
  auto output = LiveOutput::open(options.output, STDERR_FILENO, std::move(stored));
  if (!output.ok()) return failed(output.error(), ExitCode::kFailure);
  std::unique_ptr<TraceRecorder> recorder;
  if (options.record) {
    auto created = TraceRecorder::create(*options.record);
    if (!created.ok()) return failed(created.error(), ExitCode::kFailure);
    recorder = std::move(created).value();
  }
  symbolise_locally(*plan);
  plan->writes_to_errors = output.value().takes_standard_output();
  const auto signals = WatchedSignals::open();
  if (!signals.ok()) return failed(signals.error(), ExitCode::kFailure);
  const ChildProcess::Started started = ChildProcess::start(*plan, *signals.value());
  if (started.child == nullptr) {
    print_error(started.error.message);
    recorder.reset();
    std::error_code ignored;
    if (options.record && std::filesystem::is_regular_file(*options.record, ignored)) {
      std::filesystem::remove(*options.record, ignored);
    }
    return exit_code(static_cast<int>(started.error.failure));
  }
  Run session(options, std::move(suppressions).value(), std::move(output).value(), std::move(recorder));
  return session.watch(*started.child, *signals.value(), plan->path);
}

}  // namespace

void add_run_command(CLI::App& app, ExitCode& result) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* command = app.add_subcommand("run", "Run a program and report its data races");
  options->command = command;
  command->footer(kRunFooter);
  command->prefix_command();
  add_live_options(*command, options->output, options->settings.suppressions);
  command
      ->add_option("--log-path", options->output.log_path,
                   "Write text there, not to standard error; %p becomes the process number")
      ->option_text("FILE");
  command->add_flag("--no-color", options->no_colour, "The same as --color never");
  command->add_flag("-q,--quiet", options->output.quiet, "Show races and nothing else");
  command
      ->add_option("--exitcode", options->settings.exit_code,
                   "Exit status when races were found (default 66); 0 keeps the program's own")
      ->check(CLI::Range(0, 255))
      ->option_text("NUMBER");
  command->add_flag("--halt-on-error", options->settings.halt_on_error, "End the program at the first race");
  command
      ->add_option("--memory-limit", options->settings.memory_limit,
                   "Memory for the history of accesses, as in 512M or 4G; more is dropped and counted")
      ->transform(CLI::AsSizeValue(false))
      ->option_text("SIZE");
  command->add_flag("--strict-atomics", options->settings.strict_atomics,
                    "C++20: a relaxed store of the releasing thread ends its release sequence");
  command
      ->add_option("--record", options->record,
                   "Write every event to this trace, for 'deadheat analyze'; those of other processes that the program "
                   "makes to FILE.PID")
      ->option_text("FILE");
  add_sampling_options(*command, options->settings.sampling);
  command->add_flag("--force", options->force, "Run the program even if it was not built for race detection");
  command->callback([options, &result] { result = run_program(*options); });
}

}  // namespace deadheat
