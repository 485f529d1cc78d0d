// SPDX-License-Identifier: Apache-2.0
#include "replay/trace_paths.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "replay/pt_decode.h"
#include "trace/recording_file.h"

namespace deadheat::replay {
namespace {

// Between the two clocks. Measured: 30 ns over seconds; the recording has a pair for each second.
constexpr std::uint64_t kSlack = 500;
constexpr std::uint64_t kNever = ~0ULL;

// What a processor wrote without a hole.
struct Stream {
  std::uint32_t processor = 0;
  std::uint64_t offset = 0;
  std::vector<std::byte> bytes;
};

// A run with its bounds in nanoseconds.
struct TimedRun {
  TraceRun run;
  std::uint64_t begin_from = 0;
  std::uint64_t begin_until = kNever;
  std::uint64_t end_from = 0;
  std::uint64_t end_until = kNever;
};

// The runs of one range, in order.
struct OwnedRuns {
  std::uint64_t time = 0;  // when the range ended
  std::size_t number = 0;  // of equal times, in the order in which they were found
  std::vector<TimedRun> runs;
};

// A place of the path at which the thread was interrupted.
struct Interruption {
  std::uint64_t position = 0;
  std::uint64_t ip = 0;
  std::uint64_t from = 0;
  std::uint64_t until = 0;
};

std::uint64_t earlier(std::uint64_t time) { return time > kSlack ? time - kSlack : 0; }
std::uint64_t later(std::uint64_t time) { return time < kNever - kSlack ? time + kSlack : kNever; }

class TracePaths {
 public:
  TracePaths(Recording& recording, const CodeSpace& code) : recording_(recording), code_(code) {
    if (auto conversion = tick_conversion(recording.clocks); conversion.ok()) to_time_ = std::move(conversion).value();
  }

  TracePathCounts run() {
    std::ranges::sort(recording_.trace_ranges, {},
                      [](const TraceRange& range) { return std::pair(range.processor, range.offset); });
    for (const Stream& stream : streams()) decode(stream);
    for (RecordedThread& thread : recording_.threads) {
      const auto found = owned_.find(&thread);
      if (found != owned_.end()) build(thread, found->second);
    }
    return std::move(counts_);
  }

 private:
  std::vector<Stream> streams();
  void decode(const Stream& stream);
  [[nodiscard]] const TraceRange* range_of(std::uint32_t processor, std::uint64_t offset) const;
  [[nodiscard]] RecordedThread* thread_of(const TraceRange& range) const;
  void take_bounds(std::vector<TimedRun>& runs, const TraceRange& range) const;
  void build(RecordedThread& thread, std::vector<OwnedRuns>& ranges);
  static void mark(RecordedThread& thread, std::uint64_t position, const TimedRun& timed);
  void place(RecordedThread& thread, const std::vector<Interruption>& interruptions);

  Recording& recording_;
  const CodeSpace& code_;
  TickConversion to_time_;
  std::map<RecordedThread*, std::vector<OwnedRuns>> owned_;
  TracePathCounts counts_;
};

std::vector<Stream> TracePaths::streams() {
  std::vector<Stream> streams;
  std::map<std::uint32_t, std::size_t> latest;
  for (TraceBytes& piece : recording_.trace) {
    const auto found = latest.find(piece.processor);
    const bool continues =
        found != latest.end() && streams[found->second].offset + streams[found->second].bytes.size() == piece.offset;
    if (continues) {
      auto& bytes = streams[found->second].bytes;
      bytes.insert(bytes.end(), piece.bytes.begin(), piece.bytes.end());
    } else {
      latest[piece.processor] = streams.size();
      streams.push_back({piece.processor, piece.offset, std::move(piece.bytes)});
    }
    piece.bytes = {};
  }
  recording_.trace.clear();
  return streams;
}

const TraceRange* TracePaths::range_of(std::uint32_t processor, std::uint64_t offset) const {
  const auto& ranges = recording_.trace_ranges;
  auto after = std::ranges::upper_bound(ranges, std::pair(processor, offset), {}, [](const TraceRange& range) {
    return std::pair(range.processor, range.offset);
  });
  if (after == ranges.begin()) return nullptr;
  --after;
  const bool is_inside = after->processor == processor && offset - after->offset < after->size;
  return is_inside ? &*after : nullptr;
}

// Of threads that had the same number one after the other, the latest begun.
RecordedThread* TracePaths::thread_of(const TraceRange& range) const {
  RecordedThread* best = nullptr;
  std::uint64_t best_begin = 0;
  for (RecordedThread& thread : recording_.threads) {
    const std::uint64_t begin = thread.log.empty() ? 0 : thread.log.front().time;
    if (thread.system_id != range.system_id) continue;
    // Before its first entry it may have run for a while.
    const bool is_better = best_begin > range.time ? begin < best_begin : begin <= range.time && begin >= best_begin;
    if (best == nullptr || is_better) {
      best = &thread;
      best_begin = begin;
    }
  }
  return best;
}

void TracePaths::decode(const Stream& stream) {
  DecodedRuns decoded = decode_runs(stream.bytes, code_, recording_.trace_timing);
  counts_.instructions += decoded.instructions;
  counts_.runs += decoded.runs.size();
  counts_.errors += decoded.errors;
  counts_.overflows += decoded.overflows;
  if (counts_.first_error.empty()) counts_.first_error = decoded.first_error;
  // Bytes are missing before these.
  if (stream.offset != 0 && !decoded.runs.empty()) decoded.runs.front().is_after_loss = true;
  const TraceRange* current = nullptr;
  std::vector<TimedRun> runs;
  const auto finish_range = [&] {
    if (current == nullptr || runs.empty()) return;
    RecordedThread* const thread = thread_of(*current);
    if (thread == nullptr) {
      counts_.unowned_runs += runs.size();
    } else {
      take_bounds(runs, *current);
      auto& all = owned_[thread];
      all.push_back({current->time, all.size(), std::move(runs)});
    }
    runs = {};
  };
  for (TraceRun& run : decoded.runs) {
    const std::uint64_t offset = stream.offset + run.offset;
    const TraceRange* range = range_of(stream.processor, offset);
    // The very last packet of a stream: the decoder stands behind it.
    if (range == nullptr && offset > 0) range = range_of(stream.processor, offset - 1);
    if (range != current) {
      finish_range();
      current = range;
    }
    if (range == nullptr) {
      ++counts_.unowned_runs;
      continue;
    }
    if (range->has_loss) {
      run.is_after_loss = true;
      run.end = 0;
    }
    runs.push_back({std::move(run)});
  }
  finish_range();
}

// Backward: whatever comes later in the range is later in time, and all of it is before the range's end.
void TracePaths::take_bounds(std::vector<TimedRun>& runs, const TraceRange& range) const {
  const auto time_of = [&](std::uint64_t ticks, std::uint64_t otherwise) {
    return ticks != 0 && to_time_ ? to_time_(ticks) : otherwise;
  };
  std::uint64_t after = range.time;
  for (std::size_t index = runs.size(); index-- > 0;) {
    TimedRun& timed = runs[index];
    const TraceRun& run = timed.run;
    timed.end_until = later(after);
    timed.end_from = earlier(time_of(run.end_ticks, 0));
    after = std::min(after, time_of(run.begin_until, after));
    timed.begin_until = later(after);
    timed.begin_from = earlier(time_of(run.begin_ticks, 0));
    // A stamp that the run before did not have yet is from between the two.
    if (index > 0 && run.begin_ticks > runs[index - 1].run.end_ticks) {
      after = std::min(after, time_of(run.begin_ticks, after));
    }
  }
}

void TracePaths::mark(RecordedThread& thread, std::uint64_t position, const TimedRun& timed) {
  // Under way for certain between these two.
  if (timed.begin_until < timed.end_from) {
    const std::uint64_t middle = timed.begin_until + (timed.end_from - timed.begin_until) / 2;
    thread.marks.push_back({position, middle, middle});
  } else {
    thread.marks.push_back({position, timed.begin_from, timed.end_until});
  }
}

void TracePaths::build(RecordedThread& thread, std::vector<OwnedRuns>& ranges) {
  std::ranges::sort(ranges, {}, [](const OwnedRuns& one) { return std::pair(one.time, one.number); });
  std::vector<Interruption> interruptions;
  std::optional<Interruption> open;  // where the last run was interrupted
  std::uint64_t expected = 0;
  std::uint64_t position = 0;
  for (OwnedRuns& range : ranges) {
    for (TimedRun& timed : range.runs) {
      TraceRun& run = timed.run;
      // The thread goes on where it was interrupted, so that is a place of its path.
      if (open && !run.is_after_loss && run.begin == open->ip && !run.code.empty()) {
        open->until = timed.begin_until;
        interruptions.push_back(*open);
      }
      if (!run.code.empty()) {
        open.reset();
        mark(thread, position, timed);
      }
      const std::uint64_t size = run.code.size();
      const std::uint64_t end = run.end;
      const bool is_interrupted = run.is_interrupted;
      append_run(std::move(run), expected, thread.path);
      expected = end;
      position += size;
      // An empty run in between: the same place, and the same interruption as far as a sample can tell.
      if (is_interrupted && end != 0 && !open) open = Interruption{position, end, timed.end_from, 0};
      if (!is_interrupted || end == 0) open.reset();
    }
  }
  place(thread, interruptions);
}

void TracePaths::place(RecordedThread& thread, const std::vector<Interruption>& interruptions) {
  if (thread.path.empty()) return;
  std::uint64_t last = kNever;
  std::vector<RegisterSample> placed;
  std::size_t first = 0;  // both are in the order of time
  for (RegisterSample& sample : thread.samples) {
    std::optional<std::uint64_t> found;
    bool is_unique = true;
    while (first < interruptions.size() && interruptions[first].until < sample.time) ++first;
    for (std::size_t index = first; index < interruptions.size(); ++index) {
      const Interruption& one = interruptions[index];
      if (one.from > sample.time) break;
      if (one.until < sample.time || one.ip != sample.registers.ip) continue;
      is_unique = is_unique && !found;
      found = one.position;
    }
    if (!found || !is_unique || *found == last) {
      ++counts_.unplaced;
      continue;
    }
    ++counts_.placed;
    last = *found;
    sample.position = *found;
    placed.push_back(std::move(sample));
  }
  std::ranges::sort(placed, {}, [](const RegisterSample& sample) { return *sample.position; });
  thread.samples = std::move(placed);
}

}  // namespace

TracePathCounts decode_traces(Recording& recording, const CodeSpace& code) {
  if (recording.trace.empty()) return {};
  return TracePaths(recording, code).run();
}

}  // namespace deadheat::replay
