// SPDX-License-Identifier: Apache-2.0
// Traces of processors, made by software from a stepped path, become paths of threads again.
#include "replay/trace_paths.h"

#include <gtest/gtest.h>

#include <array>
#include <random>

#include "record/step_trace.h"
#include "replay/software_pt.h"

namespace deadheat::replay {
namespace {

constexpr std::uint64_t kTick = 10'000;  // between two steps; ticks are nanoseconds here

// A stepped thread that ran by turns on two processors, and was interrupted at every `period`th instruction.
class TracedThread {
 public:
  explicit TracedThread(std::uint64_t period) {
    record::StepTraceOptions options;
    options.command.words = {DEADHEAT_REPLAY_WORK, "sort"};
    options.command.is_output_shown = false;
    options.functions = {"work_sort"};
    options.limit = 4'000;
    auto traced = record::trace_steps(options);
    if (!traced || traced.value().threads.empty()) return;
    trace_ = std::move(traced).value();
    code = CodeSpace::load(trace_.mappings);
    encode(period);
  }

  [[nodiscard]] const std::vector<RegisterFile>& steps() const { return trace_.threads[0].steps; }
  [[nodiscard]] bool is_good() const { return !trace_.threads.empty(); }
  static std::uint64_t time_of(std::size_t step) { return 1'000'000 + step * kTick; }

  CodeSpace code;
  Recording recording;

 private:
  void encode(std::uint64_t period) {
    InstructionCache cache(code);
    recording.clocks = {{0, 0}, {1ULL << 40U, 1ULL << 40U}};
    recording.mappings = trace_.mappings;
    RecordedThread thread;
    thread.system_id = 77;
    constexpr std::size_t kTurn = 700;
    std::array<std::uint64_t, 2> offsets{};
    std::array<SoftwarePt, 2> encoders{SoftwarePt(cache), SoftwarePt(cache)};
    for (std::size_t begin = 0; begin + kTurn < steps().size(); begin += kTurn) {
      const std::uint32_t processor = begin / kTurn % 2;
      SoftwarePt& encoder = encoders[processor];
      encoder.synchronise(0);
      for (std::size_t at = begin; at < begin + kTurn; ++at) {
        const bool is_sampled = at % period == period / 2;
        if (encoder.is_on() && is_sampled) {
          encoder.stamp(time_of(at) - 2000);
          encoder.interrupt(steps()[at].ip);
        }
        if (!encoder.is_on()) {
          encoder.stamp(time_of(at) + 2000);
          encoder.resume(steps()[at].ip);
        }
        if (is_sampled) {
          RegisterSample sample;
          sample.time = time_of(at);
          sample.registers = steps()[at];
          thread.samples.push_back(sample);
        }
        encoder.execute(steps()[at].ip, steps()[at + 1].ip);
      }
      encoder.stamp(time_of(begin + kTurn) - 2000);
      encoder.interrupt(steps()[begin + kTurn].ip);
      auto bytes = encoder.take();
      recording.trace_ranges.push_back(
          {processor, offsets[processor], bytes.size(), 77, time_of(begin + kTurn) - 1000, false});
      const std::uint64_t size = bytes.size();
      recording.trace.push_back({processor, offsets[processor], std::move(bytes)});
      offsets[processor] += size;
    }
    recording.threads.push_back(std::move(thread));
  }

  record::StepTrace trace_;
};

TEST(TracePaths, ThreadsThatMoveBetweenProcessorsHaveOnePath) {
  TracedThread traced(300);
  if (!traced.is_good()) GTEST_SKIP() << "programs cannot be stepped here";
  const std::size_t samples = traced.recording.threads[0].samples.size();
  const TracePathCounts counts = decode_traces(traced.recording, traced.code);
  EXPECT_EQ(counts.errors, 0U) << counts.first_error;
  EXPECT_EQ(counts.unowned_runs, 0U);
  const RecordedThread& thread = traced.recording.threads[0];
  ASSERT_EQ(thread.path.size(), 1U);
  for (std::size_t at = 0; at < thread.path[0].code.size(); ++at) {
    ASSERT_EQ(thread.path[0].code[at], traced.steps()[at].ip) << at;
  }
  EXPECT_EQ(thread.path[0].code.size(), counts.instructions);
  EXPECT_EQ(counts.placed, samples);
  EXPECT_EQ(counts.unplaced, 0U);
  ASSERT_EQ(thread.samples.size(), samples);
  for (const RegisterSample& sample : thread.samples) {
    EXPECT_EQ(sample.registers, traced.steps()[*sample.position]);
  }
  for (const PathMark& mark : thread.marks) {
    EXPECT_LE(mark.from, traced.time_of(mark.position) + 5000);
    EXPECT_GE(mark.until, traced.time_of(mark.position));
  }
}

// At another moment the trace has no interruption, or one elsewhere.
TEST(TracePaths, ASampleThatCannotBePlacedIsLeftOut) {
  TracedThread traced(300);
  if (!traced.is_good()) GTEST_SKIP() << "programs cannot be stepped here";
  auto& samples = traced.recording.threads[0].samples;
  ASSERT_GT(samples.size(), 4U);
  samples[1].time += 400 * kTick;
  samples[2].registers.ip += 1;
  const std::size_t count = samples.size();
  const TracePathCounts counts = decode_traces(traced.recording, traced.code);
  EXPECT_EQ(counts.unplaced, 2U);
  EXPECT_EQ(counts.placed, count - 2);
  for (const RegisterSample& sample : traced.recording.threads[0].samples) {
    EXPECT_EQ(sample.registers, traced.steps()[*sample.position]);
  }
}

TEST(TracePaths, BytesOfNobodyAreLeftOut) {
  TracedThread traced(300);
  if (!traced.is_good()) GTEST_SKIP() << "programs cannot be stepped here";
  traced.recording.trace_ranges.clear();
  const TracePathCounts counts = decode_traces(traced.recording, traced.code);
  EXPECT_GT(counts.unowned_runs, 0U);
  EXPECT_TRUE(traced.recording.threads[0].path.empty());
}

// What was lost is a gap, and the rest is as it was.
TEST(TracePaths, LostBytesAreAGap) {
  TracedThread traced(300);
  if (!traced.is_good()) GTEST_SKIP() << "programs cannot be stepped here";
  traced.recording.trace_ranges[1].has_loss = true;
  (void)decode_traces(traced.recording, traced.code);
  const RecordedThread& thread = traced.recording.threads[0];
  EXPECT_GT(thread.path.size(), 1U);
  for (const RegisterSample& sample : thread.samples) {
    EXPECT_EQ(sample.registers, traced.steps()[*sample.position]);
  }
}

// Whatever the bytes are: paths of known code, or none.
TEST(TracePaths, DamagedTracesDoNoHarm) {
  TracedThread traced(300);
  if (!traced.is_good()) GTEST_SKIP() << "programs cannot be stepped here";
  std::mt19937 random(11);
  for (int round = 0; round < 60; ++round) {
    Recording damaged = traced.recording;
    for (int time = 0; time < 4; ++time) {
      auto& bytes = damaged.trace[random() % damaged.trace.size()].bytes;
      bytes[random() % bytes.size()] ^= static_cast<std::byte>(1U << (random() % 8));
    }
    auto& range = damaged.trace_ranges[random() % damaged.trace_ranges.size()];
    range.offset += random() % 64;
    range.time = random();
    (void)decode_traces(damaged, traced.code);
    std::uint64_t position = 0;
    for (const PathPiece& piece : damaged.threads[0].path) {
      EXPECT_EQ(piece.first_position, position);
      position += piece.code.size();
    }
  }
}

}  // namespace
}  // namespace deadheat::replay
