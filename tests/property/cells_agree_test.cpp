// SPDX-License-Identifier: Apache-2.0
// The rules of the online detector against the reference, on random traces: the
// same racy bytes; every reported pair a true race with the true stack and
// locks, so each byte of a merged entry has its own origin; no report where the
// generator kept to its discipline. Once with slots for everybody, once with so
// few that they are continued and swept all the time.
//
// DEADHEAT_TEST_TRACES and DEADHEAT_TEST_SEED as in detectors_agree_test.cpp.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "property/cell_detector.h"
#include "property/recycled_slots.h"
#include "support/order_oracle.h"
#include "support/shrink.h"
#include "trace/text_writer.h"
#include "trace/trace_generator.h"

namespace deadheat {
namespace {

constexpr std::uint64_t kTraces = 200'000;
constexpr int kShards = 8;

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 0);
}

std::vector<Event> with_own_sites(std::span<const Event> events) {
  std::vector<Event> trace(events.begin(), events.end());
  for (std::uint64_t index = 0; index < trace.size(); ++index) {
    if (trace[index].kind != EventKind::kFunctionEnter) trace[index].site = site_of_event(index);
  }
  return trace;
}

std::string describe(const std::vector<Detector::Range>& ranges) {
  std::string result;
  for (const Detector::Range& range : ranges) {
    result += " [" + std::to_string(range.begin) + ", " + std::to_string(range.end) + ")";
  }
  return result.empty() ? " none" : result;
}

CellDetectorOptions options_for(std::uint64_t seed) {
  CellDetectorOptions options;
  options.seed = seed;
  options.release_sequences = seed % 2 == 0 ? ReleaseSequences::kCpp11 : ReleaseSequences::kCpp20;
  options.origins = seed % 5 == 4 ? OriginNumbers::kFew : OriginNumbers::kOnePerAccess;
  constexpr double kChances[] = {0, 0.7, 1};
  options.quick_chance = kChances[seed / 2 % 3];
  options.refuse_chance = seed / 3 % 4 == 0 ? 1 : 0.1;
  options.refresh_chance = kChances[seed / 5 % 3] * 0.3;
  return options;
}

// Empty if the cells agree with the reference on the trace.
std::string judge(const Detector& cells, const std::string& contradiction, const std::vector<Event>& trace,
                  const CellDetectorOptions& options) {
  const auto reference = make_detector(DetectorKind::kReference, DetectorOptions{options.release_sequences});
  reference->process(trace);
  if (cells.racy_bytes() != reference->racy_bytes()) {
    return "the cells find racy bytes" + describe(cells.racy_bytes()) + ", the reference" +
           describe(reference->racy_bytes());
  }
  if (options.origins == OriginNumbers::kFew) return {};
  if (!contradiction.empty()) return contradiction;
  const OrderOracle oracle(trace, options.release_sequences);
  for (const Finding& finding : cells.findings()) {
    const std::string wrong = oracle.refute(finding);
    if (wrong.empty()) continue;
    return "the cells report events " + std::to_string(event_of_site(finding.earlier.site)) + " and " +
           std::to_string(event_of_site(finding.later.site)) + ", but: " + wrong;
  }
  return {};
}

using Judgement = std::string (*)(std::span<const Event>, std::uint64_t seed);

void expect_agreement(const std::vector<Event>& trace, std::uint64_t seed, Judgement judgement) {
  const std::string wrong = judgement(trace, seed);
  if (wrong.empty()) return;
  const std::vector<Event> small =
      shrink(trace, [&](std::span<const Event> events) { return !judgement(events, seed).empty(); });
  std::string text;
  for (const Event& event : small) text += to_text(event, Dictionary{}) + "\n";
  FAIL() << "seed " << seed << " (repeat with DEADHEAT_TEST_SEED=" << seed << ")\n"
         << judgement(small, seed) << "\nshrunk from " << trace.size() << " to " << small.size() << " events:\n"
         << text;
}

template <class Check>
void for_each_seed(int shard, std::uint64_t traces, Check&& check) {
  if (std::getenv("DEADHEAT_TEST_SEED") != nullptr) return check(from_environment("DEADHEAT_TEST_SEED", 0));
  for (std::uint64_t number = 0; number < traces / kShards; ++number) {
    check(static_cast<std::uint64_t>(shard) + number * kShards);
    if (testing::Test::HasFatalFailure()) return;
  }
}

std::string judge_cells(std::span<const Event> events, std::uint64_t seed) {
  const std::vector<Event> trace = with_own_sites(events);
  const CellDetectorOptions options = options_for(seed);
  CellDetector<PlainSlots> cells(options, options.release_sequences);
  cells.process(trace);
  return judge(cells, cells.contradiction(), trace, options);
}

class CellsAgree : public testing::TestWithParam<int> {};

TEST_P(CellsAgree, WithTheReferenceOnRandomTraces) {
  for_each_seed(GetParam(), from_environment("DEADHEAT_TEST_TRACES", kTraces), [](std::uint64_t seed) {
    expect_agreement(generate_trace(small_everything(seed)), seed, judge_cells);
  });
}

// Many threads, single words, few synchronisations: entries beyond two, bytes
// apart, whole-word writes over all of it.
TEST_P(CellsAgree, WithTheReferenceOnCrowdedWords) {
  std::uint64_t extended = 0;
  std::uint64_t collapsed = 0;
  for_each_seed(GetParam(), from_environment("DEADHEAT_TEST_TRACES", kTraces) / 8, [&](std::uint64_t seed) {
    GeneratorOptions options = small_everything(seed);
    options.threads = 9;
    options.variables = 2;
    options.events = 60 + seed % 100;
    options.race_density = seed % 3 == 0 ? 0.1 : seed % 3 == 1 ? 0.5 : 1;
    options.read_fraction = seed % 4 == 0 ? 0.9 : 0.6;
    options.switch_rate = 0.9;
    options.sizes = AccessSizes::kMixed;
    const std::vector<Event> trace = generate_trace(options);
    expect_agreement(trace, seed, judge_cells);
    CellDetector<PlainSlots> cells(options_for(seed), ReleaseSequences::kCpp11);
    cells.process(trace);
    for (const Counter& counter : cells.counters()) {
      if (counter.name == "extended") extended += counter.value;
      if (counter.name == "collapsed") collapsed += counter.value;
    }
  });
  if (std::getenv("DEADHEAT_TEST_SEED") != nullptr) return;
  EXPECT_GT(extended, 100U) << "the traces do not reach what the test is about";
  EXPECT_GT(collapsed, 20U) << "the traces do not reach what the test is about";
}

GeneratorOptions slot_trace(std::uint64_t seed) {
  GeneratorOptions options = small_everything(seed);
  options.events = 40 + seed % 160;
  options.threads = 2 + static_cast<std::uint32_t>(seed / 2 % 3);
  options.mix = {.access = 40, .lock = 25, .semaphore = 10, .thread = 25};
  return options;
}

constexpr SlotLimits kTiny = {8, 7, 4};

std::string judge_recycling(std::span<const Event> events, std::uint64_t seed) {
  const std::vector<Event> trace = with_own_sites(events);
  const CellDetectorOptions options = options_for(seed);
  CellDetector<RecycledSlots> cells(options, kTiny);
  cells.process(trace);
  if (cells.slots().lost() != 0) return {};
  if (cells.slots().is_out_of_range()) return "a thread went on in a slot that was used up";
  return judge(cells, cells.contradiction(), trace, options);
}

TEST_P(CellsAgree, WithTheReferenceWhileSlotsAreRecycled) {
  std::uint64_t exact = 0;
  std::uint64_t lost = 0;
  std::uint64_t swept = 0;
  std::uint64_t moved = 0;
  for_each_seed(GetParam(), from_environment("DEADHEAT_TEST_TRACES", kTraces) / 8, [&](std::uint64_t seed) {
    const std::vector<Event> trace = generate_trace(slot_trace(seed));
    expect_agreement(trace, seed, judge_recycling);
    CellDetector<RecycledSlots> cells(options_for(seed), kTiny);
    cells.process(trace);
    const bool is_exact = cells.slots().lost() == 0;
    exact += is_exact ? 1 : 0;
    lost += is_exact ? 0 : 1;
    swept += is_exact && cells.slots().sweeps() != 0 ? 1 : 0;
    moved += is_exact && cells.slots().moves() != 0 ? 1 : 0;
  });
  if (std::getenv("DEADHEAT_TEST_SEED") != nullptr) return;
  EXPECT_GT(exact, lost) << "too many traces force a slot";
  EXPECT_GT(swept * 10, exact) << "too few traces sweep";
  EXPECT_GT(moved * 10, exact) << "too few threads use a slot up";
}

INSTANTIATE_TEST_SUITE_P(Shard, CellsAgree, testing::Range(0, kShards));

}  // namespace
}  // namespace deadheat
