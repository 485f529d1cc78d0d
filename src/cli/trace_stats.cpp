// SPDX-License-Identifier: Apache-2.0
// `deadheat trace stats`: what is in a trace, in numbers.
#include "trace/trace_stats.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/messages.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "report/describe.h"
#include "trace/event_source.h"

namespace deadheat {

namespace {

// Threads beyond these are summed up: a trace may have a million.
constexpr std::size_t kThreadsShown = 16;

constexpr char kStatsFooter[] = R"(Shows the events by kind, the distinct objects that they name, the sizes of the
accesses, and the busiest threads. The trace is not checked; 'trace check' does that.

Examples:
  deadheat trace stats run.trace

Exit codes: 0 done; 1 bad input or failure; 2 bad usage.)";

void add_row(std::string& out, std::string_view name, std::uint64_t value) {
  if (value > 0) fmt::format_to(std::back_inserter(out), "  {:<20} {:>16}\n", name, grouped(value));
}

void add_kinds(std::string& out, const TraceStats& stats) {
  out += "\nevents by kind\n";
  std::vector<std::pair<std::uint64_t, std::string_view>> rows;
  for (int kind = 0; kind < kEventKindCount; ++kind) rows.emplace_back(stats.by_kind[kind], kEventKinds[kind].word);
  std::sort(rows.begin(), rows.end(), [](const auto& one, const auto& other) {
    return std::pair(other.first, one.second) < std::pair(one.first, other.second);
  });
  for (const auto& [count, word] : rows) add_row(out, word, count);
}

void add_objects(std::string& out, const TraceStats& stats) {
  out += "\ndistinct\n";
  add_row(out, "addresses", stats.distinct_addresses);
  add_row(out, "atomic variables", stats.distinct_atomics);
  add_row(out, "locks", stats.distinct_locks);
  add_row(out, "conditions", stats.distinct_conditions);
  add_row(out, "barriers", stats.distinct_barriers);
  add_row(out, "semaphores", stats.distinct_semaphores);
  add_row(out, "sites", stats.distinct_sites);
}

void add_details(std::string& out, const TraceStats& stats) {
  constexpr std::string_view kOrders[kMemoryOrderCount] = {"relaxed", "consume", "acquire",
                                                           "release", "acq_rel", "seq_cst"};
  out += "\ndetails\n";
  for (int order = 0; order < kMemoryOrderCount; ++order) add_row(out, kOrders[order], stats.by_order[order]);
  add_row(out, "shared acquires", stats.shared_acquires);
  add_row(out, "recursive acquires", stats.recursive_acquires);
  add_row(out, "volatile accesses", stats.volatile_accesses);
  add_row(out, "allocated bytes", stats.allocated_bytes);
  for (const auto& [size, count] : stats.by_access_size) add_row(out, counted(size, "byte") + " accessed", count);
}

void add_threads(std::string& out, const TraceStats& stats, const Dictionary& dictionary) {
  std::vector<std::pair<ThreadId, ThreadStats>> threads(stats.by_thread.begin(), stats.by_thread.end());
  std::sort(threads.begin(), threads.end(), [](const auto& one, const auto& other) {
    return std::pair(other.second.events, one.first) < std::pair(one.second.events, other.first);
  });
  fmt::format_to(std::back_inserter(out), "\n  {:<20} {:>16} {:>14} {:>14} {:>12} {:>12}\n", "by thread", "events",
                 "reads", "writes", "atomics", "acquires");
  for (std::size_t index = 0; index < std::min(threads.size(), kThreadsShown); ++index) {
    const auto& [thread, numbers] = threads[index];
    fmt::format_to(std::back_inserter(out), "  {:<20} {:>16} {:>14} {:>14} {:>12} {:>12}\n",
                   describe_thread(thread, dictionary), grouped(numbers.events), grouped(numbers.reads),
                   grouped(numbers.writes), grouped(numbers.atomics), grouped(numbers.acquires));
  }
  if (threads.size() > kThreadsShown) {
    fmt::format_to(std::back_inserter(out), "  and {} with fewer events\n",
                   counted(threads.size() - kThreadsShown, "thread"));
  }
}

std::string format_trace_stats(const std::string& path, const TraceStats& stats, const Dictionary& dictionary) {
  std::string out = fmt::format("{}: {}, {}\n", printable(path), counted(stats.events, "event"),
                                counted(stats.by_thread.size(), "thread"));
  if (stats.events == 0) return out;
  add_kinds(out, stats);
  add_objects(out, stats);
  add_details(out, stats);
  add_threads(out, stats, dictionary);
  return out;
}

Status print_stats(const std::string& path) {
  auto source = open_trace(path);
  if (!source.ok()) return source.error();
  TraceStatsCollector collector;
  {
    ProgressLine progress;
    while (true) {
      const auto batch = source.value()->next_batch();
      if (!batch.ok()) return batch.error();
      if (batch.value().empty()) break;
      collector.add(batch.value());
      progress.update(source.value()->progress(), collector.stats().events);
    }
  }
  if (const auto truncation = source.value()->truncation()) print_warning(about_file(path, *truncation));
  auto output = Output::open(std::nullopt);
  return output.value().write(format_trace_stats(path, collector.stats(), source.value()->dictionary()));
}

}  // namespace

void add_trace_stats_command(CLI::App& trace, ExitCode& result) {
  auto path = std::make_shared<std::string>();
  CLI::App* command = trace.add_subcommand("stats", "Show what is in a trace, in numbers");
  command->footer(kStatsFooter);
  command->add_option("FILE", *path, "The trace")->required()->option_text(" ");
  command->callback([path, &result] {
    const Status status = print_stats(*path);
    if (status.ok()) return;
    print_error(about_file(*path, status.error().message));
    result = ExitCode::kFailure;
  });
}

}  // namespace deadheat
