// SPDX-License-Identifier: Apache-2.0
#include "replay/rebuild.h"

#include <algorithm>
#include <limits>

#include "replay/access_list.h"
#include "replay/frame_tracker.h"
#include "replay/free_replay.h"
#include "replay/interpreter.h"
#include "replay/window.h"

namespace deadheat::replay {
namespace {

// More than that of a stretch between samples is replayed from its two ends only.
constexpr std::size_t kLongestReach = 60'000;

class PathRebuild {
 public:
  PathRebuild(const CodeSpace& code, const RecordedThread& thread, const RebuildOptions& options)
      : cache_(code), thread_(thread), options_(options), list_(result_) {}

  RebuiltThread run(std::size_t first, std::size_t last);

 private:
  void stretch(std::uint64_t begin, std::uint64_t end, std::size_t sample);
  void part(const PathPiece& piece, std::uint64_t begin, std::uint64_t end, std::size_t sample);
  void window(const PathPiece& piece, std::uint64_t begin, std::uint64_t end, std::size_t sample);
  void single_block(const PathPiece& piece, std::uint64_t begin, std::uint64_t end, std::size_t sample);
  void count_path(const PathPiece& piece, std::uint64_t begin, std::uint64_t end);
  [[nodiscard]] const RegisterSample* sample_at(std::uint64_t position, std::uint64_t code) const;
  [[nodiscard]] std::uint64_t position(std::size_t sample) const { return *thread_.samples[sample].position; }

  InstructionCache cache_;
  const RecordedThread& thread_;
  const RebuildOptions& options_;
  RebuiltThread result_;
  AccessList list_;
};

RebuiltThread PathRebuild::run(std::size_t first, std::size_t last) {
  constexpr std::uint64_t kEnd = std::numeric_limits<std::uint64_t>::max();
  const std::size_t count = thread_.samples.size();
  if (count == 0) stretch(0, kEnd, kNoSample);
  for (std::size_t sample = first; sample < last; ++sample) {
    ++result_.counts.samples;
    // The first sample also has what came before it.
    if (sample == 0) stretch(0, position(0), 0);
    stretch(position(sample), sample + 1 < count ? position(sample + 1) : kEnd, sample);
  }
  return std::move(result_);
}

void PathRebuild::stretch(std::uint64_t begin, std::uint64_t end, std::size_t sample) {
  auto piece = std::ranges::upper_bound(thread_.path, begin, {}, &PathPiece::first_position);
  if (piece != thread_.path.begin()) --piece;
  for (; piece != thread_.path.end() && piece->first_position < end; ++piece) {
    const std::uint64_t from = std::max(begin, piece->first_position);
    const std::uint64_t to = std::min<std::uint64_t>(end, piece->first_position + piece->code.size());
    if (from < to) part(*piece, from, to, sample);
  }
}

void PathRebuild::count_path(const PathPiece& piece, std::uint64_t begin, std::uint64_t end) {
  for (std::uint64_t at = begin; at < end; ++at) {
    const Instruction* instruction = cache_.at(piece.code[at - piece.first_position]);
    if (instruction != nullptr) result_.counts.accesses_on_path += instruction->access_total();
  }
  result_.counts.instructions += end - begin;
}

void PathRebuild::part(const PathPiece& piece, std::uint64_t begin, std::uint64_t end, std::size_t sample) {
  count_path(piece, begin, end);
  if (options_.is_single_block) {
    if (sample == kNoSample) return;
    single_block(piece, begin, end, sample);
    return;
  }
  if (end - begin <= 2 * kLongestReach) {
    window(piece, begin, end, sample);
    return;
  }
  for (std::uint64_t from = begin; from < end; from += kLongestReach) {
    window(piece, from, std::min<std::uint64_t>(from + kLongestReach, end), sample);
  }
}

// The path must agree with it on where the thread was.
const RegisterSample* PathRebuild::sample_at(std::uint64_t position_wanted, std::uint64_t code) const {
  const auto found = std::ranges::lower_bound(thread_.samples, position_wanted, {},
                                              [](const RegisterSample& sample) { return *sample.position; });
  if (found == thread_.samples.end() || *found->position != position_wanted || found->registers.ip != code) {
    return nullptr;
  }
  return &*found;
}

void PathRebuild::window(const PathPiece& piece, std::uint64_t begin, std::uint64_t end, std::size_t sample) {
  const std::uint64_t first = piece.first_position;
  Window here;
  here.code = std::span(piece.code).subspan(begin - first, end - begin);
  here.start = sample_at(begin, here.code.front());
  // A sample at the end of the piece says nothing of what follows; its position is the end of what it knows.
  if (end - first < piece.code.size()) here.end = sample_at(end, piece.code[end - first]);
  WindowReplay replay(cache_, here, options_);
  replay.run();
  if (replay.was_regenerated()) ++result_.counts.regenerated;
  if (replay.has_conflict()) ++result_.counts.conflicts;
  const std::uint64_t sampled_at = sample == kNoSample ? 0 : position(sample);
  FrameTracker frames(result_.frames);
  frames.begin(here.start == nullptr ? kNoSample : static_cast<std::uint32_t>(here.start - thread_.samples.data()));
  bool was_unknown = false;
  for (std::size_t index = 0; index < replay.size(); ++index) {
    const Instruction* instruction = replay.instruction(index);
    if (instruction != nullptr && was_unknown) frames.come_back(instruction->address);
    was_unknown = instruction == nullptr;
    if (was_unknown) continue;
    const std::uint32_t frame = frames.current();
    frames.step(*instruction);
    if (instruction->access_count == 0) continue;
    const std::uint64_t at = begin + index;
    if (sample == kNoSample) {
      list_.add(*instruction, replay.has_conflict() ? Registers{} : replay.before(index), kNoSample, 0,
                Origin::kPcRelative, frame, at);
      continue;
    }
    const bool is_next_near = here.end != nullptr && !replay.is_forward(index) && sample + 1 < thread_.samples.size();
    const std::size_t origin = sampled_at > at || !is_next_near ? sample : sample + 1;
    const auto distance = static_cast<std::int64_t>(at - position(origin));
    list_.add(*instruction, replay.has_conflict() ? Registers{} : replay.before(index),
              static_cast<std::uint32_t>(origin), distance,
              distance == 0                               ? Origin::kSampled
              : distance < 0 || !replay.is_forward(index) ? Origin::kBackward
                                                          : Origin::kForward,
              frame, at);
  }
}

// RaceZ: the sample's own basic block, as the path shows it; backward by propagation alone.
void PathRebuild::single_block(const PathPiece& piece, std::uint64_t begin, std::uint64_t end, std::size_t sample) {
  const auto instruction_at = [&](std::uint64_t at) { return cache_.at(piece.code[at - piece.first_position]); };
  const std::uint64_t sampled_at = position(sample);
  if (sampled_at < begin || sampled_at >= end || instruction_at(sampled_at) == nullptr ||
      sample_at(sampled_at, piece.code[sampled_at - piece.first_position]) == nullptr) {
    return;
  }
  FrameTracker frames(result_.frames);
  frames.begin(static_cast<std::uint32_t>(sample));
  const std::uint32_t frame = frames.current();
  const auto add = [&](std::uint64_t at, const Registers& before) {
    const auto distance = static_cast<std::int64_t>(at - sampled_at);
    list_.add(*instruction_at(at), before, static_cast<std::uint32_t>(sample), distance,
              distance == 0  ? Origin::kSampled
              : distance < 0 ? Origin::kBackward
                             : Origin::kForward,
              frame, at);
  };
  const auto is_fallthrough = [&](std::uint64_t at) {
    const Instruction* instruction = instruction_at(at);
    return instruction != nullptr && instruction->flow == Flow::kNext &&
           piece.code[at + 1 - piece.first_position] == instruction->next();
  };
  std::vector<Registers> earlier;
  Registers after = Registers::of(thread_.samples[sample].registers);
  std::uint64_t at = sampled_at;
  while (options_.has_backward && at > piece.first_position && is_fallthrough(at - 1)) {
    --at;
    Registers before;
    (void)undo(*instruction_at(at), after, before, Backward::kPropagationOnly);
    earlier.push_back(before);
    after = before;
  }
  for (; !earlier.empty(); earlier.pop_back(), ++at) add(at, earlier.back());
  MachineState state;
  state.memory.is_enabled = false;
  state.registers = Registers::of(thread_.samples[sample].registers);
  for (at = sampled_at; at < end; ++at) {
    const Instruction* instruction = instruction_at(at);
    if (instruction == nullptr) break;
    add(at, state.registers);
    if (at + 1 == end || !is_fallthrough(at)) break;
    (void)execute(*instruction, state);
  }
}

bool has_positions(const RecordedThread& thread) {
  return !thread.path.empty() &&
         std::ranges::all_of(thread.samples, [](const auto& sample) { return sample.position.has_value(); });
}

}  // namespace

RebuiltThread rebuild(const CodeSpace& code, const RecordedThread& thread, std::size_t first_sample,
                      std::size_t last_sample, const RebuildOptions& options) {
  last_sample = std::min(last_sample, thread.samples.size());
  if (has_positions(thread)) return PathRebuild(code, thread, options).run(first_sample, last_sample);
  return rebuild_without_path(code, thread, first_sample, last_sample, options);
}

}  // namespace deadheat::replay
