// SPDX-License-Identifier: Apache-2.0
// `deadheat trace check`: whether traces are whole and obey the rules.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/messages.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/thread_census.h"
#include "report/describe.h"
#include "trace/event_source.h"
#include "trace/trace_checker.h"

namespace deadheat {

namespace {

constexpr char kCheckFooter[] = R"(Examples:
  deadheat trace check run.trace
  deadheat trace check recordings/*.dht

Exit codes: 0 every trace is whole and well formed; 1 at least one is not; 2 bad usage.)";

// The verdict on a good trace in words, or what is wrong with it.
Result<std::string> check_trace(const std::string& path) {
  auto source = open_trace(path);
  if (!source.ok()) return source.error();
  TraceChecker checker({.names = &source.value()->dictionary()});
  ThreadCensus census;
  ProgressLine progress;
  while (true) {
    const auto batch = source.value()->next_batch();
    if (!batch.ok()) return batch.error();
    if (batch.value().empty()) break;
    if (const Status status = checker.check(batch.value()); !status.ok()) return status.error();
    census.add(batch.value());
    progress.update(source.value()->progress(), checker.event_count());
  }
  if (const auto truncation = source.value()->truncation()) return Error{ErrorCode::kMalformed, *truncation};
  return fmt::format("well formed: {}, {}", counted(checker.event_count(), "event"), counted(census.count(), "thread"));
}

ExitCode check_all(const std::vector<std::string>& paths) {
  ExitCode result = ExitCode::kSuccess;
  std::string verdicts;
  for (const std::string& path : paths) {
    const auto verdict = check_trace(path);
    if (verdict.ok()) {
      verdicts += fmt::format("{}: {}\n", printable(path), verdict.value());
    } else {
      print_error(about_file(path, verdict.error().message));
      result = ExitCode::kFailure;
    }
  }
  auto output = Output::open(std::nullopt);
  if (const Status written = output.value().write(verdicts); !written.ok()) {
    print_error(written.error().message);
    return ExitCode::kFailure;
  }
  return result;
}

}  // namespace

void add_trace_check_command(CLI::App& trace, ExitCode& result) {
  auto paths = std::make_shared<std::vector<std::string>>();
  CLI::App* command = trace.add_subcommand("check", "Check that traces are whole and well formed");
  command->footer(kCheckFooter);
  command->add_option("FILE", *paths, "The traces")->required()->option_text("...");
  command->callback([paths, &result] { result = check_all(*paths); });
}

}  // namespace deadheat
