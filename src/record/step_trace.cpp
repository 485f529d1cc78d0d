// SPDX-License-Identifier: Apache-2.0
#include "record/step_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>

namespace deadheat::record {
namespace {

class Collector final : public StepListener {
 public:
  Collector(const StepTraceOptions& options, StepTrace& trace) : options_(options), trace_(trace) {}

  std::vector<std::uint64_t> on_ready(pid_t process) override;
  AfterStep on_step(const Step& step) override;
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

 private:
  const StepTraceOptions& options_;
  StepTrace& trace_;
  std::unordered_map<pid_t, std::size_t> places_;
  std::uint64_t count_ = 0;
  std::optional<Error> error_;
};

std::vector<std::uint64_t> Collector::on_ready(pid_t process) {
  trace_.mappings = code_mappings(process);
  std::vector<std::uint64_t> addresses;
  if (options_.functions.empty() || trace_.mappings.empty()) return addresses;
  // The program is the file that the entry point is in: the lowest mapping.
  auto found = function_addresses(trace_.mappings.front(), options_.functions);
  if (found) return std::move(found).value();
  error_ = found.error();
  return addresses;
}

AfterStep Collector::on_step(const Step& step) {
  if (error_) return AfterStep::kKill;
  const auto [place, is_new] = places_.try_emplace(step.thread, trace_.threads.size());
  if (is_new) {
    trace_.threads.emplace_back();
    trace_.threads.back().system_id = step.thread;
  }
  ThreadSteps& thread = trace_.threads[place->second];
  if (step.is_after_gap) thread.gaps.push_back(thread.steps.size());
  thread.steps.push_back(step.registers);
  thread.order.push_back(count_++);
  return options_.limit != 0 && count_ >= options_.limit ? AfterStep::kKill : AfterStep::kGoOn;
}

}  // namespace

std::uint64_t StepTrace::total() const {
  std::uint64_t total = 0;
  for (const ThreadSteps& thread : threads) total += thread.steps.size();
  return total;
}

Result<StepTrace> trace_steps(const StepTraceOptions& options) {
  StepTrace trace;
  Collector collector(options, trace);
  const auto summary = step_program(options.command, collector);
  if (collector.error()) return *collector.error();
  if (!summary) return summary.error();
  return trace;
}

RecordedThread sampled(const ThreadSteps& thread, std::uint64_t period, std::uint64_t phase, Path path) {
  RecordedThread made;
  made.system_id = static_cast<std::uint32_t>(thread.system_id);
  for (std::size_t at = phase; at < thread.steps.size(); at += period) {
    RegisterSample sample;
    sample.time = at;
    sample.registers = thread.steps[at];
    if (path == Path::kKnown) sample.position = at;
    made.samples.push_back(std::move(sample));
  }
  if (path == Path::kUnknown) return made;
  std::vector<std::size_t> ends = thread.gaps;
  ends.push_back(thread.steps.size());
  std::size_t begin = 0;
  for (const std::size_t end : ends) {
    if (end == begin) continue;
    PathPiece piece;
    piece.first_position = begin;
    piece.is_after_gap = true;
    for (std::size_t at = begin; at < end; ++at) piece.code.push_back(thread.steps[at].ip);
    made.path.push_back(std::move(piece));
    begin = end;
  }
  return made;
}

}  // namespace deadheat::record
