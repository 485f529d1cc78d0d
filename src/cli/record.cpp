// SPDX-License-Identifier: Apache-2.0
// `deadheat record`: a run of a program as it is, for `deadheat analyze`.
#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/choice.h"
#include "cli/commands.h"
#include "cli/duration.h"
#include "cli/install_layout.h"
#include "cli/launch.h"
#include "cli/messages.h"
#include "cli/preload_check.h"
#include "cli/program_file.h"
#include "cli/program_words.h"
#include "cli/record_session.h"
#include "watch/refuse_runtime.h"

namespace deadheat {

namespace {

enum class BackendChoice : std::uint8_t { kAuto, kIntel, kClock, kStep, kSoftwarePt };

struct RecordOptions {
  BackendChoice backend = BackendChoice::kAuto;
  std::optional<std::uint64_t> period;
  std::optional<std::uint64_t> rate;
  std::string directory;
  std::uint32_t stack_bytes = 256;
  record::Timers timers = record::Timers::kAuto;
  std::uint64_t log_limit_mb = 1024;
  std::optional<double> duration_us;
  std::vector<std::string> functions;
  bool has_held_locks = false;
  bool is_quiet = false;
  CLI::App* command = nullptr;
};

constexpr char kRecordFooter[] = R"(The whole line: deadheat record [OPTIONS] -o DIR [--] PROGRAM [ARGUMENTS...]
The program is taken as it is: nothing is built anew. Build it with -g all the same: debug
information tells which of its code is atomic, and without it nothing can be called a race.

Examples:
  deadheat record -o run1 ./server
  deadheat analyze run1                           what races did it have?
  deadheat record --hz 5000 -o run2 ./server      more samples: more found, more cost
  deadheat record --duration 60s -o run3 ./server the first minute
  deadheat record --backend step --period 1000 -o run4 ./small-test

Backends: clock interrupts the program --hz times a second of its processor time (default 1000)
and keeps its registers; works in every virtual machine. Its timers are those of the processors where
that is permitted (root, CAP_PERFMON), with --timers threads those of the program's threads only. intel counts memory instructions
(--period, default 10000) and lets the processor write down the path in between; needs an
Intel processor without a hypervisor. step stops at every instruction: exact, and
thousands of times slower; for tests. software-pt is step, written down as intel would: it shows
that such recordings can be analysed where there is no such processor. auto takes intel where it works, otherwise clock.
'deadheat doctor' says what works here.

A preloaded agent logs what orders the threads: locks, conditions, barriers, threads, pipes,
and memory that is allocated and freed.

Exit codes: the program's own, 128 + n if signal n killed it; 1 nothing could be recorded;
2 bad usage; 126 the program cannot be started; 127 it was not found.)";

constexpr std::uint64_t kUsualRate = 1000;
constexpr std::uint64_t kUsualPeriod = 10'000;

record::Backend settle_backend(BackendChoice choice) {
  switch (choice) {
    case BackendChoice::kIntel:
      return record::Backend::kIntel;
    case BackendChoice::kClock:
      return record::Backend::kClock;
    case BackendChoice::kStep:
      return record::Backend::kStep;
    case BackendChoice::kSoftwarePt:
      return record::Backend::kSoftwarePt;
    case BackendChoice::kAuto:
      break;
  }
  return record::missing_for(record::Backend::kIntel) ? record::Backend::kClock : record::Backend::kIntel;
}

// Nanoseconds or instructions. kInvalid: --hz where there is no clock.
Result<std::uint64_t> settle_period(const RecordOptions& options, record::Backend backend) {
  if (backend == record::Backend::kClock) {
    return options.period.value_or(1'000'000'000 / options.rate.value_or(kUsualRate));
  }
  if (options.rate) {
    return Error{ErrorCode::kInvalid,
                 fmt::format("--hz is for the backend clock; '{}' has --period, in instructions", name_of(backend))};
  }
  return options.period.value_or(kUsualPeriod);
}

ExitCode record_program(RecordOptions& options) {
  const auto words = program_words(*options.command);
  if (!words.ok()) return failed(words.error(), ExitCode::kUsage);
  if (options.directory.empty()) {
    return failed({ErrorCode::kInvalid, "name a directory for the recording: -o DIR; see 'deadheat record --help'"},
                  ExitCode::kUsage);
  }
  const Lookup lookup = find_program(words.value().front());
  if (lookup.path.empty()) {
    print_error(lookup.error.message);
    return exit_code(static_cast<int>(lookup.error.failure));
  }
  const char* const library_path = std::getenv("LD_LIBRARY_PATH");
  for (const Status& status : {watch::refuse_runtime_of(lookup.path, library_path == nullptr ? "" : library_path),
                               check_preload(lookup.path)}) {
    if (!status.ok()) return failed(status.error(), ExitCode::kFailure);
  }
  if (is_script(lookup.path)) {
    print_note(
        fmt::format("'{}' is a script: its interpreter is recorded, not the programs that it starts", lookup.path));
  }
  const auto layout = find_install_layout();
  if (!layout.ok()) return failed(layout.error(), ExitCode::kFailure);
  RecordPlan plan;
  plan.backend = settle_backend(options.backend);
  const auto period = settle_period(options, plan.backend);
  if (!period.ok()) return failed(period.error(), ExitCode::kUsage);
  if (!options.functions.empty() && !record::is_stepped(plan.backend)) {
    return failed({ErrorCode::kInvalid, fmt::format("--function is for the backends step and software-pt; '{}' samples "
                                                    "all of the program",
                                                    name_of(plan.backend))},
                  ExitCode::kUsage);
  }
  if (const auto missing = record::missing_for(plan.backend)) {
    return failed({ErrorCode::kUnsupported, fmt::format("cannot record by '{}': {}", name_of(plan.backend), *missing)},
                  ExitCode::kFailure);
  }
  auto writer = RecordingWriter::create(options.directory);
  if (!writer.ok()) return failed(writer.error(), ExitCode::kFailure);
  plan.path = std::filesystem::absolute(lookup.path).string();
  plan.words = words.value();
  plan.agent = layout.value().record_agent();
  plan.directory = std::filesystem::absolute(options.directory).string();
  plan.period = period.value();
  plan.stack_bytes = options.stack_bytes / 8 * 8;
  plan.timers = options.timers;
  plan.log_limit = options.log_limit_mb << 20U;
  plan.duration_us = options.duration_us;
  // Where every instruction is a stop, records are cheap.
  plan.has_held_locks = options.has_held_locks || record::is_stepped(plan.backend);
  plan.is_quiet = options.is_quiet;
  plan.functions = options.functions;
  return record::is_stepped(plan.backend) ? record_by_steps(plan, *writer.value())
                                          : record_by_samples(plan, *writer.value());
}

}  // namespace

void add_record_command(CLI::App& app, ExitCode& result) {
  auto options = std::make_shared<RecordOptions>();
  CLI::App* command = app.add_subcommand("record", "Record a program as it is, to be analysed later");
  options->command = command;
  command->footer(kRecordFooter);
  command->prefix_command();
  static const Choices<BackendChoice> backends = {{"auto", BackendChoice::kAuto},
                                                  {"intel", BackendChoice::kIntel},
                                                  {"clock", BackendChoice::kClock},
                                                  {"step", BackendChoice::kStep},
                                                  {"software-pt", BackendChoice::kSoftwarePt}};
  add_choice<BackendChoice>(*command, "--backend", options->backend, backends,
                            "auto (default), intel, clock, step or software-pt; see below");
  command->add_option("-o,--output", options->directory, "A new directory, or an old recording to replace")
      ->option_text("DIR");
  CLI::Option* const rate =
      command->add_option("--hz", options->rate, "Samples a second, of processor time (default 1000)")
          ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{20'000}))
          ->option_text("NUMBER");
  command
      ->add_option("--period", options->period,
                   "Instructions between samples (intel, step), or nanoseconds (clock); default 10000")
      ->check(CLI::Range(std::uint64_t{10}, std::uint64_t{1} << 40U))
      ->excludes(rate)
      ->option_text("NUMBER");
  command->add_option("--stack", options->stack_bytes, "Bytes of the stack with each sample (default 256)")
      ->check(CLI::Range(0U, 8192U))
      ->option_text("BYTES");
  static const Choices<record::Timers> timers = {{"auto", record::Timers::kAuto},
                                                 {"threads", record::Timers::kThreads},
                                                 {"processors", record::Timers::kProcessors}};
  add_choice<record::Timers>(*command, "--timers", options->timers, timers,
                             "clock: interrupt by timers of threads, or of processors; auto (default): of processors, "
                             "which cost less, where that is permitted");
  command->add_option("--log-limit", options->log_limit_mb, "Megabytes of log at most (default 1024)")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 24U))
      ->option_text("MB");
  command
      ->add_option("--function", options->functions,
                   "step, software-pt: only this function, with all that it calls; the rest at full speed. Repeatable")
      ->allow_extra_args(false)
      ->option_text("NAME");
  const auto check = [](const std::string& text) {
    const auto time = parse_duration(text);
    return time && *time >= 1e4 ? std::string() : fmt::format("'{}' is no time: write 500ms or 60s", text);
  };
  command
      ->add_option_function<std::string>(
          "--duration", [options](const std::string& text) { options->duration_us = parse_duration(text); },
          "Stop sampling after this time; the program goes on")
      ->check(CLI::Validator(check, ""))
      ->option_text("TIME");
  command->add_flag("--held-locks", options->has_held_locks,
                    "Log every lock, so that reports tell which were held; costs more");
  command->add_flag("-q,--quiet", options->is_quiet, "Say nothing unless something is wrong");
  command->callback([options, &result] { result = record_program(*options); });
}

}  // namespace deadheat
