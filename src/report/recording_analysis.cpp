// SPDX-License-Identifier: Apache-2.0
#include "report/recording_analysis.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <span>
#include <utility>

#include "report/describe.h"
#include "report/fingerprint.h"
#include "report/rebuilt_accesses.h"
#include "report/recorded_callers.h"
#include "report/recorded_code.h"
#include "trace/recorded_order.h"

namespace deadheat {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// What is known of one thread.
struct ThreadAccesses {
  std::vector<PlacedAccess> accesses;  // numbered by their frames
  std::vector<replay::CallFrame> frames;
};

class Analyser {
 public:
  Analyser(const Recording& recording, const RecordingRequest& request)
      : recording_(recording),
        request_(request),
        begin_(Clock::now()),
        code_(recording, std::make_shared<Symbolizer>()) {}

  RecordingAnalysis run() {
    result_.unlogged_order = code_.unlogged_order();
    result_.stats.seconds.code = seconds_since(begin_);
    rebuild();
    const bool is_complete = result_.unlogged_order.empty() && recording_.has_log;
    (is_complete ? result_.races : result_.suspects) = detect();
    if (!is_complete) {
      result_.races = result_.suspects;
      result_.races.findings.clear();
    }
    return std::move(result_);
  }

 private:
  void rebuild() {
    const Clock::time_point begin = Clock::now();
    RebuiltAccesses rebuilt = rebuild_accesses(recording_, code_.replayed(), request_, result_.stats);
    result_.warnings = std::move(rebuilt.warnings);
    threads_.resize(recording_.threads.size());
    for (std::size_t at = 0; at < threads_.size(); ++at)
      choose(recording_.threads[at], rebuilt.threads[at], threads_[at]);
    for (std::size_t at = 0; at < threads_.size(); ++at) threads_[at].frames = std::move(rebuilt.frames[at]);
    result_.stats.seconds.rebuild = seconds_since(begin);
    for (const RecordedThread& thread : recording_.threads) {
      result_.stats.samples += thread.samples.size();
      result_.stats.log_entries += thread.log.size();
    }
  }

  void choose(const RecordedThread& thread, const std::vector<replay::RebuiltAccess>& rebuilt, ThreadAccesses& into) {
    RecordingStats& stats = result_.stats;
    const PathPlaces places(thread, [this](std::uint64_t code) { return code_.is_library(code); });
    for (const replay::RebuiltAccess& access : rebuilt) {
      ++stats.accesses;
      if (access.origin == replay::Origin::kSampled) ++stats.sampled_accesses;
      if (access.origin == replay::Origin::kForward) ++stats.forward;
      if (access.origin == replay::Origin::kBackward) ++stats.backward;
      if (access.origin == replay::Origin::kPcRelative) ++stats.pc_relative;
      if (access.is_stack) {
        ++stats.stack;
      } else if (!code_.is_compared(access.code)) {
        ++stats.library;
      } else if (access.is_atomic || code_.is_atomic(access.code)) {
        ++stats.atomic;
      } else if (const auto time = places.time_of(access); !time || access.size == 0 || access.size > kMaxAccessSize) {
        ++stats.unsure;
      } else {
        ++stats.compared;
        const AccessOrigin origin =
            access.origin == replay::Origin::kSampled ? AccessOrigin::kSampled : AccessOrigin::kRebuilt;
        const Event event = access.is_write ? events::write(thread.id, access.address, access.size)
                                            : events::read(thread.id, access.address, access.size);
        into.accesses.push_back({*time, events::at(event, code_.site_of(access.code, origin)), access.frame});
      }
    }
    // The order of accesses of one moment does not matter: they are of one thread and one stretch.
    std::ranges::sort(into.accesses, {}, &PlacedAccess::time);
  }

  // Comparing means: as if the log told everything.
  Analysis detect() {
    Clock::time_point begin = Clock::now();
    std::vector<OrderedThread> ordered;
    for (std::size_t at = 0; at < threads_.size(); ++at) {
      ordered.push_back({&recording_.threads[at], threads_[at].accesses});
    }
    const std::vector<Event> stream =
        order_recording(ordered, [this](std::uint64_t code) { return code_.site_of(code, AccessOrigin::kSampled); });
    result_.stats.seconds.order += seconds_since(begin);
    begin = Clock::now();
    const auto detector = make_detector(request_.detector);
    constexpr std::size_t kBatch = 1U << 16U;
    for (std::size_t at = 0; at < stream.size(); at += kBatch) {
      detector->process(std::span(stream).subspan(at, std::min(kBatch, stream.size() - at)));
    }
    detector->finish();
    Analysis analysis;
    analysis.event_count = stream.size();
    analysis.thread_count = recording_.threads.size();
    analysis.access_count = result_.stats.compared;
    analysis.incomplete = recording_.incomplete;
    analysis.counters = detector->counters();
    std::vector<Finding> findings = detector->findings();
    for (Finding& finding : findings) {
      tell_traits(finding);
      name_memory(finding, stream);
    }
    // Callers are dear to find, and tell apart only what has no name.
    findings = merge(findings, [this](const Finding& finding) {
      const bool is_named = name_of(finding.address, code_.dictionary()).has_value();
      return std::pair(fingerprint_of(finding, code_.dictionary()), is_named ? 0 : finding.address);
    });
    for (Finding& finding : findings) tell_callers(finding);
    analysis.findings =
        merge(findings, [this](const Finding& finding) { return fingerprint_of(finding, code_.dictionary()); });
    analysis.dictionary = code_.dictionary();
    result_.stats.seconds.detect += seconds_since(begin);
    return analysis;
  }

  void tell_traits(Finding& finding) {
    for (RacingAccess* side : {&finding.earlier, &finding.later}) {
      if (side->kind != AccessKind::kFree) side->traits = code_.traits_of(side->site);
      if (!recording_.are_locks_known) side->traits = side->traits | AccessTraits::kLocksUnknown;
    }
  }

  // One of those that have one key: a pair that was once sampled and once rebuilt is one race.
  template <class KeyOf>
  static std::vector<Finding> merge(const std::vector<Finding>& findings, const KeyOf& key_of) {
    std::vector<Finding> merged;
    std::map<decltype(key_of(findings.front())), std::size_t> known;
    for (const Finding& finding : findings) {
      const auto [found, is_new] = known.emplace(key_of(finding), merged.size());
      if (is_new) {
        merged.push_back(finding);
      } else {
        merged[found->second].occurrences += finding.occurrences;
      }
    }
    return merged;
  }

  void tell_callers(Finding& finding) {
    for (RacingAccess* side : {&finding.earlier, &finding.later}) {
      for (std::size_t at = 0; at < threads_.size(); ++at) {
        if (recording_.threads[at].id != side->thread || side->kind == AccessKind::kFree) continue;
        callers_.complete(*side, finding.address, finding.size, recording_.threads[at], threads_[at].accesses,
                          threads_[at].frames);
      }
    }
  }

  // A global by its name, a block by its allocation.
  void name_memory(Finding& finding, const std::vector<Event>& stream) {
    Dictionary& dictionary = code_.dictionary();
    Address begin = 0;
    if (auto global = code_.global_at(finding.address, begin)) {
      dictionary.ranges.emplace(begin, std::move(*global));
      return;
    }
    for (std::size_t at = std::min<std::size_t>(finding.event_index + 1, stream.size()); at-- > 0;) {
      const Event& event = stream[at];
      if (event.kind != EventKind::kAlloc || finding.address - event.address() >= event.size()) continue;
      if (event.site == SiteId::kUnknown) return;
      finding.block = {event.address(), event.size(), {event.site}};
      const Site& site = dictionary.sites[event.site];
      const auto next = dictionary.ranges.lower_bound(event.address());
      if (next != dictionary.ranges.end() && next->first < event.address() + event.size()) return;
      dictionary.ranges.emplace(
          event.address(),
          NamedRange{event.size(), fmt::format("block of {} allocated by {} {}", counted(event.size(), "byte"),
                                               describe_function(site), describe_place(site))});
      return;
    }
  }

  const Recording& recording_;
  const RecordingRequest& request_;
  Clock::time_point begin_;
  RecordedCode code_;
  RecordedCallers callers_{code_};
  std::vector<ThreadAccesses> threads_;
  RecordingAnalysis result_;
};

}  // namespace

RecordingAnalysis analyse_recording(Recording& recording, const RecordingRequest& request) {
  const auto begin = std::chrono::steady_clock::now();
  // Libraries as well: without a filter the trace goes through them.
  const bool has_trace = !recording.trace.empty();
  const replay::TracePathCounts trace =
      has_trace ? decode_traces(recording, replay::CodeSpace::load(recording.mappings)) : replay::TracePathCounts{};
  const double seconds = seconds_since(begin);
  RecordingAnalysis result = Analyser(recording, request).run();
  result.stats.trace = trace;
  result.stats.seconds.decode = seconds;
  return result;
}

}  // namespace deadheat
