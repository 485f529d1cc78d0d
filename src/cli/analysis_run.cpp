// SPDX-License-Identifier: Apache-2.0
#include "cli/analysis_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <span>

#include "cli/messages.h"
#include "cli/progress.h"
#include "cli/thread_census.h"
#include "report/access_census.h"
#include "report/raced_blocks.h"
#include "trace/event_source.h"
#include "trace/trace_checker.h"

namespace deadheat {

namespace {

// The reference detector keeps every byte apart: a range of this size takes it
// gigabytes.
constexpr std::uint64_t kMostReferenceBytes = 16ULL << 20;

// To free a block is one as well: who uses it then has a race.
bool is_access(const Event& event) { return event.kind <= EventKind::kAtomicRmw || event.kind == EventKind::kFree; }

// One trace going through one detector, batch by batch.
class Analyser {
 public:
  Analyser(const AnalysisRequest& request, std::unique_ptr<EventSource> source)
      : request_(request),
        source_(std::move(source)),
        detector_(make_detector(request.detector, request.detector_options)),
        checker_({.names = &source_->dictionary()}) {}

  AnalysisRun run() {
    ProgressLine progress;
    while (process_next_batch()) {
      progress.update(source_->progress(), event_count_, detector_->findings().size());
    }
    detector_->finish();
    // Of a trace that stops early the beginning counts; here there is none, and
    // the file may not be a trace at all.
    if (!error_ && event_count_ == 0 && source_->truncation()) {
      error_ = Error{ErrorCode::kMalformed, *source_->truncation()};
    }
    AnalysisRun result;
    result.seconds = progress.seconds();
    result.error = error_;
    result.analysis = summarise();
    return result;
  }

 private:
  // False at the end, whatever its reason.
  bool process_next_batch() {
    const auto batch = source_->next_batch();
    if (!batch.ok()) {
      error_ = batch.error();
      return false;
    }
    const std::span<const Event> good = check(batch.value());
    detector_->process(good);
    blocks_.add(good, detector_->findings());
    census_.add(good);
    access_count_ += static_cast<std::uint64_t>(std::ranges::count_if(good, is_access));
    event_count_ += good.size();
    return !batch.value().empty() && !error_;
  }

  // The events before the first that breaks a rule, or that is too much for
  // the detector.
  std::span<const Event> check(std::span<const Event> events) {
    if (request_.detector == DetectorKind::kReference) events = bearable(events);
    if (request_.checking == Checking::kOff) return events;
    const Status status = checker_.check(events);
    if (status.ok()) return events;
    error_ = status.error();
    return events.first(checker_.event_count() - event_count_);
  }

  std::span<const Event> bearable(std::span<const Event> events) {
    for (std::size_t at = 0; at < events.size(); ++at) {
      const Event& event = events[at];
      const bool is_walked = event.kind == EventKind::kFree || event.kind == EventKind::kBenignRange;
      if (!is_walked || event.size() <= kMostReferenceBytes) continue;
      error_ = Error{ErrorCode::kUnsupported,
                     fmt::format("event {}: a range of {} bytes is too much for the reference detector; use "
                                 "--detector fasttrack",
                                 event_count_ + at, event.size())};
      return events.first(at);
    }
    return events;
  }

  [[nodiscard]] Analysis summarise() const {
    Analysis analysis;
    analysis.tool_version = DEADHEAT_VERSION;
    analysis.trace_path = request_.path;
    analysis.detector_name = name_of(request_.detector);
    analysis.release_sequences = request_.detector_options.release_sequences;
    analysis.event_count = event_count_;
    analysis.thread_count = census_.count();
    analysis.access_count = access_count_;
    analysis.incomplete = error_ ? std::optional(error_->message) : source_->truncation();
    analysis.sampled = detector_->sampled_share();
    analysis.findings = detector_->findings();
    for (std::size_t at = 0; at < blocks_.blocks().size(); ++at) analysis.findings[at].block = blocks_.blocks()[at];
    analysis.counters = detector_->counters();
    analysis.dictionary = source_->dictionary();
    merge_same_races(analysis);
    return analysis;
  }

  const AnalysisRequest& request_;
  std::unique_ptr<EventSource> source_;
  std::unique_ptr<Detector> detector_;
  TraceChecker checker_;
  ThreadCensus census_;
  RacedBlocks blocks_;
  std::uint64_t event_count_ = 0;
  std::uint64_t access_count_ = 0;
  std::optional<Error> error_;
};

}  // namespace

std::string name_of(DetectorKind kind) {
  switch (kind) {
    case DetectorKind::kFastTrack:
      return "fasttrack";
    case DetectorKind::kSlimState:
      return "slimstate";
    case DetectorKind::kDjit:
      return "djit";
    case DetectorKind::kReference:
      return "reference";
    case DetectorKind::kPacer:
      return "pacer";
    case DetectorKind::kLiteRace:
      return "literace";
  }
  return "unknown";
}

Result<AnalysisRun> run_analysis(const AnalysisRequest& request) {
  auto source = open_trace(request.path);
  if (!source.ok()) return source.error();
  return Analyser(request, std::move(source).value()).run();
}

void count_accesses(Analysis& analysis) {
  std::error_code ignored;
  if (analysis.findings.empty() || !std::filesystem::is_regular_file(analysis.trace_path, ignored)) return;
  auto source = open_trace(analysis.trace_path);
  if (!source.ok()) return;
  AccessCensus census(analysis.findings);
  ProgressLine progress;
  std::uint64_t left = analysis.event_count;
  std::uint64_t read = 0;
  while (left != 0) {
    const auto batch = source.value()->next_batch();
    if (!batch.ok() || batch.value().empty()) break;
    const auto events = batch.value().first(std::min<std::size_t>(batch.value().size(), left));
    census.add(events);
    left -= events.size();
    read += events.size();
    progress.update(source.value()->progress(), read);
  }
  // A file that changed meanwhile says nothing.
  if (left == 0) analysis.contexts = census.contexts();
}

}  // namespace deadheat
