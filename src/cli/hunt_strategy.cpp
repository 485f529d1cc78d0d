// SPDX-License-Identifier: Apache-2.0
#include "cli/hunt_strategy.h"

#include <algorithm>
#include <array>

#include "base/flat_map.h"
#include "base/random.h"
#include "cli/hunt_record.h"
#include "schedule/portfolio.h"

namespace deadheat {

namespace {

constexpr std::uint64_t kLargestRunSeed = 1'000'000;

// Those among which a portfolio chooses.
constexpr std::array kPortfolio = {RunStrategy::kDrfinder, RunStrategy::kPct, RunStrategy::kContest};

RunStrategy choice_of_portfolio(std::span<const RunRecord> history) {
  schedule::Portfolio portfolio(kPortfolio.size(), 1);
  for (const RunRecord& run : history) {
    const auto* const found = std::find(kPortfolio.begin(), kPortfolio.end(), run.strategy);
    if (found == kPortfolio.end()) continue;
    const std::uint32_t news = run.new_races + (run.is_new_finding ? 1 : 0);
    portfolio.learn(static_cast<std::uint32_t>(found - kPortfolio.begin()), news);
  }
  return kPortfolio[portfolio.next()];
}

}  // namespace

const Choices<HuntStrategy>& hunt_strategy_choices() {
  static const Choices<HuntStrategy> choices = {{"drfinder", HuntStrategy::kDrfinder},
                                                {"pct", HuntStrategy::kPct},
                                                {"contest", HuntStrategy::kContest},
                                                {"native", HuntStrategy::kNative},
                                                {"portfolio", HuntStrategy::kPortfolio}};
  return choices;
}

std::string_view word_of(HuntStrategy strategy) {
  for (const auto& [word, choice] : hunt_strategy_choices()) {
    if (choice == strategy) return word;
  }
  return "";
}

std::string_view word_of(RunStrategy strategy) {
  switch (strategy) {
    case RunStrategy::kNative:
      return "native";
    case RunStrategy::kDrfinder:
      return "drfinder";
    case RunStrategy::kPct:
      return "pct";
    case RunStrategy::kContest:
      return "contest";
  }
  return "";
}

RunStrategy next_strategy(HuntStrategy hunt, std::span<const RunRecord> history) {
  // Relations have to be learned before they can be used.
  const bool has_learned = !history.empty();
  switch (hunt) {
    case HuntStrategy::kNative:
      return RunStrategy::kNative;
    case HuntStrategy::kDrfinder:
      return has_learned ? RunStrategy::kDrfinder : RunStrategy::kNative;
    case HuntStrategy::kPct:
      return RunStrategy::kPct;
    case HuntStrategy::kContest:
      return RunStrategy::kContest;
    case HuntStrategy::kPortfolio:
      break;
  }
  return has_learned ? choice_of_portfolio(history) : RunStrategy::kNative;
}

std::uint64_t seed_of_run(std::uint64_t hunt_seed, std::uint32_t number) {
  return 1 + Random(hunt_seed ^ spread(number)).below(kLargestRunSeed);
}

}  // namespace deadheat
