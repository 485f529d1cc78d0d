// SPDX-License-Identifier: Apache-2.0
#include "report/rebuilt_accesses.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

#include "watch/decode_site.h"
#include "watch/site_address.h"

namespace deadheat {

namespace {

constexpr std::size_t kSamplesInPiece = 256;

struct Piece {
  std::size_t thread = 0;
  std::size_t first = 0;
  std::size_t last = 0;
  replay::RebuiltThread rebuilt;
};

// The sampled instructions themselves.
replay::RebuiltThread sampled_only(const replay::CodeSpace& code, const RecordedThread& thread, std::size_t first,
                                   std::size_t last) {
  replay::RebuiltThread result;
  for (std::size_t at = first; at < last; ++at) {
    const RegisterFile& registers = thread.samples[at].registers;
    const auto decoded = watch::decode_instruction(code.bytes_at(registers.ip));
    if (!decoded || !decoded->site) continue;
    const watch::Site& site = *decoded->site;
    watch::Registers known;
    std::copy(registers.general.begin(), registers.general.end(), known.general);
    known.instruction_pointer = registers.ip;
    replay::RebuiltAccess access;
    access.code = registers.ip;
    access.address = watch::address_of(site, known);
    access.size = site.size;
    access.is_atomic = (site.flags & watch::kAtomicSite) != 0;
    access.is_stack = (site.flags & watch::kStackSite) != 0;
    access.sample = static_cast<std::uint32_t>(at);
    access.frame = static_cast<std::uint32_t>(result.frames.size());
    result.frames.push_back({replay::kNoFrame, 0, access.sample, 0});
    for (const std::uint8_t direction : {watch::kReads, watch::kWrites}) {
      if ((site.flags & direction) == 0) continue;
      access.is_write = direction == watch::kWrites;
      result.accesses.push_back(access);
    }
  }
  result.counts.samples = last - first;
  return result;
}

void add_counts(const replay::RebuildCounts& counts, RecordingStats& stats) {
  stats.by_register += counts.rebuilt_register;
  stats.by_code += counts.rebuilt_pc_relative;
  stats.by_memory += counts.rebuilt_memory;
  stats.accesses_on_path += counts.accesses_on_path;
  stats.conflicts += counts.conflicts;
}

}  // namespace

RebuiltAccesses rebuild_accesses(const Recording& recording, const std::vector<CodeMapping>& mappings,
                                 const RecordingRequest& request, RecordingStats& stats) {
  const replay::CodeSpace code = replay::CodeSpace::load(mappings);
  replay::RebuildOptions options;
  options.is_single_block = request.reconstruction == Reconstruction::kSingleBlock;
  std::vector<Piece> pieces;
  std::uint64_t samples = 0;
  for (std::size_t at = 0; at < recording.threads.size(); ++at) {
    const std::size_t count = recording.threads[at].samples.size();
    samples += count;
    if (count == 0 && !recording.threads[at].path.empty()) pieces.push_back({at, 0, 0, {}});
    for (std::size_t first = 0; first < count; first += kSamplesInPiece) {
      pieces.push_back({at, first, std::min(count, first + kSamplesInPiece), {}});
    }
  }
  std::atomic<std::size_t> next{0};
  std::mutex telling;
  std::uint64_t done = 0;
  std::uint64_t accesses = 0;
  const auto work = [&] {
    for (;;) {
      const std::size_t number = next.fetch_add(1, std::memory_order_relaxed);
      if (number >= pieces.size()) return;
      Piece& piece = pieces[number];
      const RecordedThread& thread = recording.threads[piece.thread];
      piece.rebuilt = request.reconstruction == Reconstruction::kNone
                          ? sampled_only(code, thread, piece.first, piece.last)
                          : replay::rebuild(code, thread, piece.first, piece.last, options);
      const std::lock_guard<std::mutex> hold(telling);
      done += piece.last - piece.first;
      accesses += piece.rebuilt.accesses.size();
      if (request.progress) request.progress(done, samples, accesses);
    }
  };
  const unsigned workers = request.workers != 0 ? request.workers : std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::thread> others;
  for (unsigned at = 1; at < workers && at < pieces.size(); ++at) others.emplace_back(work);
  work();
  for (std::thread& other : others) other.join();

  RebuiltAccesses result;
  result.threads.resize(recording.threads.size());
  result.frames.resize(recording.threads.size());
  for (Piece& piece : pieces) {
    add_counts(piece.rebuilt.counts, stats);
    auto& all = result.threads[piece.thread];
    auto& frames = result.frames[piece.thread];
    const auto base = static_cast<std::uint32_t>(frames.size());
    for (replay::CallFrame frame : piece.rebuilt.frames) {
      if (frame.parent != replay::kNoFrame) frame.parent += base;
      frames.push_back(frame);
    }
    for (replay::RebuiltAccess access : piece.rebuilt.accesses) {
      if (access.frame != replay::kNoFrame) access.frame += base;
      all.push_back(access);
    }
    piece.rebuilt = {};
  }
  result.warnings = code.warnings();
  return result;
}

PathPlaces::PathPlaces(const RecordedThread& thread, const std::function<bool(std::uint64_t code)>& is_library)
    : thread_(thread) {
  for (const PathPiece& piece : thread.path) {
    bool is_inside = false;
    for (std::size_t at = 0; at < piece.code.size(); ++at) {
      const std::uint64_t position = piece.first_position + at;
      if (is_library(piece.code[at])) {
        is_inside = false;
        continue;
      }
      // A piece that was only cut for its length goes on.
      const bool goes_on =
          is_inside || (at == 0 && !piece.is_after_gap && !stretches_.empty() && stretches_.back().end == position);
      if (!goes_on) stretches_.push_back({position, position, std::nullopt});
      stretches_.back().end = position + 1;
      is_inside = true;
    }
  }
  for (const RegisterSample& sample : thread.samples) {
    if (sample.position) learn({*sample.position, sample.time, sample.time});
  }
  for (const PathMark& mark : thread.marks) learn(mark);
}

const PathPlaces::Stretch* PathPlaces::stretch_at(std::uint64_t position) const {
  auto after = std::ranges::upper_bound(stretches_, position, {}, &Stretch::begin);
  if (after == stretches_.begin() || position >= (--after)->end) return nullptr;
  return &*after;
}

void PathPlaces::learn(const PathMark& mark) {
  const Stretch* const stretch = stretch_at(mark.position);
  if (stretch == nullptr || stretch->time) return;
  // Only if the log has nothing in the meantime.
  const auto first = std::ranges::lower_bound(thread_.log, mark.from, {}, &LoggedEvent::time);
  const bool is_certain = mark.from == mark.until || first == thread_.log.end() || first->time > mark.until;
  if (is_certain) stretches_[static_cast<std::size_t>(stretch - stretches_.data())].time = mark.from;
}

std::optional<std::uint64_t> PathPlaces::time_of(const replay::RebuiltAccess& access) const {
  if (access.position == replay::kNoPosition) {
    if (access.sample >= thread_.samples.size()) return std::nullopt;
    return thread_.samples[access.sample].time;
  }
  const Stretch* const stretch = stretch_at(access.position);
  return stretch == nullptr ? std::nullopt : stretch->time;
}

}  // namespace deadheat
