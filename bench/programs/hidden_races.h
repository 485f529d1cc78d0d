// SPDX-License-Identifier: Apache-2.0
// The races that a program of bench/programs/hidden is marked with, and which of them a
// hunt has found.
#pragma once

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>
#include <string>
#include <utility>
#include <vector>

namespace deadheat::bench {

struct HiddenRace {
  std::string name;
  std::vector<int> lines;  // two, in order
};

// A race as a hunt saw it.
struct Sighting {
  int first_run = 0;  // 0: never
  int runs_seen = 0;
};

class HiddenRaces {
 public:
  // Nothing if the file cannot be read, or if its marks are not pairs.
  static std::optional<HiddenRaces> read(const std::string& source) {
    std::ifstream text(source);
    HiddenRaces result(source.substr(source.rfind('/') + 1));
    const std::regex mark("// race ([a-z_]+)$");
    int number = 0;
    for (std::string line; std::getline(text, line);) {
      ++number;
      std::smatch parts;
      if (std::regex_search(line, parts, mark)) result.add_mark(parts[1], number);
    }
    for (const HiddenRace& race : result.races_) {
      if (race.lines.size() != 2) return std::nullopt;
    }
    if (result.races_.empty()) return std::nullopt;
    return result;
  }

  [[nodiscard]] const std::vector<HiddenRace>& races() const { return races_; }

  // Which one a finding of a report is: its two lines are the two marked ones. None: it is
  // no race of the program.
  [[nodiscard]] std::optional<std::size_t> find(const nlohmann::json& finding) const {
    std::vector<int> lines = {line_of(finding.at("earlier")), line_of(finding.at("later"))};
    std::sort(lines.begin(), lines.end());
    for (std::size_t at = 0; at < races_.size(); ++at) {
      if (races_[at].lines == lines) return at;
    }
    return std::nullopt;
  }

 private:
  explicit HiddenRaces(std::string file) : file_(std::move(file)) {}

  void add_mark(const std::string& name, int line) {
    auto race = std::find_if(races_.begin(), races_.end(), [&](const HiddenRace& one) { return one.name == name; });
    if (race == races_.end()) race = races_.insert(races_.end(), HiddenRace{name, {}});
    race->lines.push_back(line);
  }

  // The innermost frame in the source; 0: none.
  [[nodiscard]] int line_of(const nlohmann::json& side) const {
    for (const nlohmann::json& frame : side.at("stack")) {
      if (!frame.at("file").is_string()) continue;
      const std::string file = frame.at("file");
      if (file.substr(file.rfind('/') + 1) == file_) return frame.at("line");
    }
    return 0;
  }

  std::string file_;
  std::vector<HiddenRace> races_;
};

// What a hunt found, in terms of the marks.
struct HuntVerdict {
  std::vector<Sighting> sightings;      // of the marked races, in their order
  std::vector<std::string> unexpected;  // everything else that was found, for people
};

// `hunt` is the document of `deadheat hunt --format json`. Throws nlohmann's exceptions
// if it is another one.
inline HuntVerdict judge_hunt(const HiddenRaces& marks, const nlohmann::json& hunt) {
  HuntVerdict verdict;
  verdict.sightings.resize(marks.races().size());
  for (const nlohmann::json& race : hunt.at("races")) {
    const std::optional<std::size_t> known = marks.find(race);
    if (!known) {
      verdict.unexpected.push_back("a race that is none: " + race.dump());
      continue;
    }
    // One pair of lines may be several races: a read and a write, one and the other first.
    Sighting& seen = verdict.sightings[*known];
    const int first_run = race.at("first_run");
    if (seen.first_run == 0 || first_run < seen.first_run) seen.first_run = first_run;
    seen.runs_seen = std::max(seen.runs_seen, race.at("runs_seen").get<int>());
  }
  for (const nlohmann::json& finding : hunt.at("findings")) {
    verdict.unexpected.push_back(finding.at("kind").get<std::string>() + ": " + finding.dump());
  }
  for (const nlohmann::json& run : hunt.at("runs")) {
    if (run.at("end") != "exited" || run.at("exit_status") != 0) {
      verdict.unexpected.push_back("a run that did not end well: " + run.dump());
    }
  }
  return verdict;
}

}  // namespace deadheat::bench
