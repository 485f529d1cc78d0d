// SPDX-License-Identifier: Apache-2.0
// rebuild() on stepped programs: every address must be the one that the program used.
#include "replay/rebuild.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <map>

#include "record/step_trace.h"
#include "support/rebuild_truth.h"

namespace deadheat::replay {
namespace {

const record::StepTrace& steps_of(const std::string& kernel) {
  static std::map<std::string, record::StepTrace> traces;
  const auto [place, is_new] = traces.try_emplace(kernel);
  if (is_new) {
    record::StepTraceOptions options;
    options.command.words = {DEADHEAT_REPLAY_WORK, kernel};
    options.command.is_output_shown = false;
    options.functions = {"work_" + kernel};
    options.limit = 12'000;
    auto trace = record::trace_steps(options);
    EXPECT_TRUE(trace) << trace.error().message;
    if (trace) place->second = std::move(trace).value();
  }
  return place->second;
}

class RebuildTest : public testing::TestWithParam<const char*> {};

TEST_P(RebuildTest, FindsNoWrongAddress) {
  const auto& trace = steps_of(GetParam());
  ASSERT_EQ(trace.threads.size(), 1U);
  const auto code = CodeSpace::load(trace.mappings);
  RebuildOptions forward_only;
  forward_only.has_backward = false;
  RebuildOptions single_block;
  single_block.is_single_block = true;
  std::uint64_t most = 0;
  for (const std::uint64_t period : {50, 1000}) {
    const auto thread = record::sampled(trace.threads[0], period, 17, record::Path::kKnown);
    const auto full = compare(code, trace.threads[0], thread, {});
    const auto forward = compare(code, trace.threads[0], thread, forward_only);
    const auto block = compare(code, trace.threads[0], thread, single_block);
    for (const Comparison& result : {full, forward, block}) {
      EXPECT_EQ(result.wrong, 0U) << result.first_wrong;
      EXPECT_EQ(result.counts.conflicts, 0U);
    }
    EXPECT_GE(full.rebuilt, forward.rebuilt);
    EXPECT_GT(forward.rebuilt, block.rebuilt);
    std::printf("%s, one of %d: %d of %d accesses, forward %d, single block %d, regenerated %d\n", GetParam(),
                static_cast<int>(period), static_cast<int>(full.rebuilt),
                static_cast<int>(full.counts.accesses_on_path), static_cast<int>(forward.rebuilt),
                static_cast<int>(block.rebuilt), static_cast<int>(full.counts.regenerated));
    most = std::max(most, full.rebuilt * 100 / full.counts.accesses_on_path);
  }
  EXPECT_GE(most, 40U);
}

TEST_P(RebuildTest, FollowsOnlyWhatHappenedWithoutAPath) {
  const auto& trace = steps_of(GetParam());
  ASSERT_EQ(trace.threads.size(), 1U);
  const auto code = CodeSpace::load(trace.mappings);
  const auto thread = record::sampled(trace.threads[0], 200, 5, record::Path::kUnknown);
  const auto result = compare(code, trace.threads[0], thread, {});
  EXPECT_EQ(result.wrong, 0U) << result.first_wrong;
  EXPECT_GT(result.rebuilt, thread.samples.size());
  std::printf("%s without a path: %.1f accesses per sample\n", GetParam(),
              static_cast<double>(result.rebuilt) / static_cast<double>(thread.samples.size()));
}

TEST_P(RebuildTest, PiecesPutTogetherAreTheWhole) {
  const auto& trace = steps_of(GetParam());
  const auto code = CodeSpace::load(trace.mappings);
  const auto thread = record::sampled(trace.threads[0], 500, 100, record::Path::kKnown);
  const std::size_t half = thread.samples.size() / 2;
  const auto whole = rebuild(code, thread, 0, thread.samples.size());
  const auto first = rebuild(code, thread, 0, half);
  const auto second = rebuild(code, thread, half, thread.samples.size());
  EXPECT_EQ(whole.accesses.size(), first.accesses.size() + second.accesses.size());
  EXPECT_EQ(whole.counts.accesses_on_path, first.counts.accesses_on_path + second.counts.accesses_on_path);
  EXPECT_EQ(whole.counts.instructions, trace.threads[0].steps.size());
}

INSTANTIATE_TEST_SUITE_P(Kernels, RebuildTest, testing::Values("hash", "tree", "compress"));

}  // namespace
}  // namespace deadheat::replay
