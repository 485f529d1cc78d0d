// SPDX-License-Identifier: Apache-2.0
// The scenario table (tests/scenarios): every scenario on every detector. What
// the detectors agree on can still be wrong; here each verdict was worked out
// by hand from the meaning of the events and the rules of C++.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <ostream>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "core/detector.h"
#include "support/scenario.h"
#include "trace/trace_checker.h"

namespace deadheat {

// For messages of the test framework.
static void PrintTo(const Detector::Range& range, std::ostream* out) {
  *out << std::hex << "[0x" << range.begin << ", 0x" << range.end << ")" << std::dec;
}

namespace {

const Result<std::vector<Scenario>>& table() {
  static const auto* const scenarios =
      new Result<std::vector<Scenario>>(load_scenarios(DEADHEAT_SOURCE_DIR "/tests/scenarios"));
  return *scenarios;
}

// The scenarios as parameters: by number, so that the listing stays short.
std::size_t table_size() { return table().ok() ? table().value().size() : 0; }

const char* word(DetectorKind kind) {
  switch (kind) {
    case DetectorKind::kFastTrack:
      return "FastTrack";
    case DetectorKind::kSlimState:
      return "SlimState";
    case DetectorKind::kDjit:
      return "Djit";
    case DetectorKind::kReference:
      return "Reference";
    case DetectorKind::kPacer:
      return "Pacer";
    case DetectorKind::kLiteRace:
      return "LiteRace";
  }
  return "";
}

// As the scenario asks for; a sampling detector samples everything. (No scenario
// calls a function so often that LiteRace would skip it.)
std::unique_ptr<Detector> detector_for(DetectorKind kind, const Scenario& scenario) {
  DetectorOptions options = scenario.options;
  options.sampling = SamplingPlan{};
  return make_detector(kind, options);
}

bool overlaps(const Finding& finding, const ExpectedRace& race) {
  return finding.address < race.address + race.size && race.address < finding.address + finding.size;
}

TEST(ScenarioTable, LoadsCompletely) {
  ASSERT_TRUE(table().ok()) << table().error().message;
  EXPECT_GE(table_size(), 90U);
}

TEST(ScenarioTable, NamesAreDistinct) {
  std::set<std::string> names;
  for (std::size_t at = 0; at < table_size(); ++at) {
    const Scenario& scenario = table().value()[at];
    EXPECT_TRUE(names.insert(test_name(scenario.name)).second) << scenario.place << ": " << scenario.name;
  }
}

TEST(ScenarioTable, EveryTraceKeepsTheRules) {
  for (std::size_t at = 0; at < table_size(); ++at) {
    const Scenario& scenario = table().value()[at];
    TraceChecker checker({&scenario.dictionary});
    const Status status = checker.check(std::span<const Event>(scenario.events));
    EXPECT_TRUE(status.ok()) << scenario.place << ": " << status.error().message;
  }
}

TEST(ScenarioTable, VerdictsDoNotDependOnBatches) {
  for (std::size_t at = 0; at < table_size(); ++at) {
    const Scenario& scenario = table().value()[at];
    for (const DetectorKind kind :
         {DetectorKind::kFastTrack, DetectorKind::kSlimState, DetectorKind::kDjit, DetectorKind::kPacer}) {
      const auto whole = detector_for(kind, scenario);
      whole->process(scenario.events);
      whole->finish();
      const auto pieces = detector_for(kind, scenario);
      for (const Event& event : scenario.events) pieces->process(std::span(&event, 1));
      pieces->finish();
      EXPECT_EQ(pieces->racy_bytes(), whole->racy_bytes()) << scenario.place;
      EXPECT_EQ(pieces->findings().size(), whole->findings().size()) << scenario.place;
    }
  }
}

class ScenarioTest : public testing::TestWithParam<std::tuple<std::size_t, DetectorKind>> {
 protected:
  [[nodiscard]] static const Scenario& scenario() { return table().value()[std::get<0>(GetParam())]; }
  [[nodiscard]] static DetectorKind kind() { return std::get<1>(GetParam()); }
};

TEST_P(ScenarioTest, HasItsVerdict) {
  const auto detector = detector_for(kind(), scenario());
  detector->process(scenario().events);
  detector->finish();

  EXPECT_EQ(detector->racy_bytes(), scenario().expected_bytes()) << scenario().place;
  for (const ExpectedRace& race : scenario().races) {
    const bool found = std::any_of(
        detector->findings().begin(), detector->findings().end(),
        [&](const Finding& finding) { return overlaps(finding, race) && (!race.kind || finding.kind == *race.kind); });
    EXPECT_TRUE(found) << scenario().place << ": no finding of the expected kind at " << std::hex << race.address;
  }
}

INSTANTIATE_TEST_SUITE_P(Table, ScenarioTest,
                         testing::Combine(testing::Range<std::size_t>(0, table_size()),
                                          testing::Values(DetectorKind::kFastTrack, DetectorKind::kSlimState,
                                                          DetectorKind::kDjit, DetectorKind::kReference,
                                                          DetectorKind::kPacer, DetectorKind::kLiteRace)),
                         [](const testing::TestParamInfo<ScenarioTest::ParamType>& parameter) {
                           return test_name(table().value()[std::get<0>(parameter.param)].name) + "On" +
                                  word(std::get<1>(parameter.param));
                         });

}  // namespace
}  // namespace deadheat
