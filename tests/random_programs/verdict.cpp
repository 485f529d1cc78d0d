// SPDX-License-Identifier: Apache-2.0
#include "verdict.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace deadheat::random_programs {

namespace {

std::string text_of(const LinePair& pair) { return std::to_string(pair.first) + " and " + std::to_string(pair.second); }

}  // namespace

Truth read_truth(const std::filesystem::path& file) {
  Truth truth;
  std::ifstream in(file);
  bool is_whole = false;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string kind;
    words >> kind;
    std::set<LinePair> pairs;
    for (LinePair pair; words >> pair.first >> pair.second;) pairs.insert(pair);
    if (kind == "pair") truth.pairs.merge(pairs);
    if (kind == "demand") truth.demands.push_back(std::move(pairs));
    is_whole = kind == "end";
  }
  if (!is_whole) throw std::runtime_error("the oracle has not come to its end");
  return truth;
}

std::vector<std::string> disagreements(const std::vector<programs::FoundRace>& found, const Truth& truth,
                                       Completeness completeness) {
  std::vector<std::string> result;
  std::set<LinePair> reported;
  for (const programs::FoundRace& race : found) {
    if (!race.earlier || !race.later) {
      result.push_back("no line of the program: " + race.text());
      continue;
    }
    const LinePair pair = std::minmax(race.earlier->line, race.later->line);
    reported.insert(pair);
    if (!truth.pairs.contains(pair)) result.push_back("no race: lines " + text_of(pair));
  }
  if (completeness == Completeness::kSome) return result;
  for (const std::set<LinePair>& demand : truth.demands) {
    const auto is_reported = [&](const LinePair& pair) { return reported.contains(pair); };
    if (std::ranges::any_of(demand, is_reported)) continue;
    std::string text = "missed: lines ";
    for (const LinePair& pair : demand) text += (pair == *demand.begin() ? "" : ", or ") + text_of(pair);
    result.push_back(text);
  }
  return result;
}

}  // namespace deadheat::random_programs
