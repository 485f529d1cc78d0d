// SPDX-License-Identifier: Apache-2.0
#include "found_races.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>
#include <stdexcept>

namespace deadheat::programs {

namespace {

std::string text_of(const std::optional<SourceLine>& place) {
  return place ? place->file + ":" + std::to_string(place->line) : "outside the program";
}

std::optional<SourceLine> place_of(const nlohmann::json& access, const TestProgram& program) {
  for (const nlohmann::json& frame : access.at("stack")) {
    if (!frame.at("file").is_string() || !frame.at("line").is_number_integer()) continue;
    const std::string file = frame.at("file");
    if (!program.is_file_of_program(file)) continue;
    return SourceLine{std::filesystem::path(file).filename().string(), frame.at("line")};
  }
  return std::nullopt;
}

// "    #1 second /path/t.c:4:35 (t+0x10)"
std::optional<SourceLine> place_of_frame(const std::string& line, const TestProgram& program) {
  static const std::regex pattern(R"(^\s+#\d+ .* (\S+?):(\d+)(:\d+)?( \(.*)?$)");
  std::smatch match;
  if (!std::regex_match(line, match, pattern) || !program.is_file_of_program(match[1])) return std::nullopt;
  return SourceLine{std::filesystem::path(match[1].str()).filename().string(), std::stoi(match[2])};
}

bool begins_an_access(const std::string& line) {
  static const std::regex pattern(R"(^  (Previous )?([Aa]tomic )?([Rr]ead|[Ww]rite) of size .*)");
  return std::regex_match(line, pattern);
}

bool is_pair_of(const ExpectedRace& race, const FoundRace& found) {
  if (!found.earlier || !found.later) return false;
  if (!race.lines.contains(*found.earlier) || !race.lines.contains(*found.later)) return false;
  return race.lines.size() == 1 || *found.earlier != *found.later;
}

}  // namespace

std::string FoundRace::text() const { return text_of(earlier) + " and " + text_of(later); }

std::vector<FoundRace> races_in_json(const std::string& json, const TestProgram& program) {
  std::vector<FoundRace> found;
  try {
    const nlohmann::json report = nlohmann::json::parse(json);
    for (const nlohmann::json& finding : report.at("findings")) {
      found.push_back({place_of(finding.at("earlier"), program), place_of(finding.at("later"), program)});
    }
  } catch (const nlohmann::json::exception& error) {
    throw std::runtime_error(std::string("no report in JSON: ") + error.what());
  }
  return found;
}

std::vector<FoundRace> races_in_tsan_text(const std::string& text, const TestProgram& program) {
  std::vector<FoundRace> found;
  std::vector<std::optional<SourceLine>> accesses;
  bool in_access = false;
  bool in_report = false;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (line.find("WARNING: ThreadSanitizer:") != std::string::npos) {
      in_report = line.find("race") != std::string::npos || line.find("use-after-free") != std::string::npos;
      accesses.clear();
    } else if (in_report && begins_an_access(line)) {
      in_access = true;
      accesses.emplace_back();
    } else if (line.empty()) {
      in_access = false;
      if (in_report && accesses.size() == 2) {
        found.push_back({accesses[1], accesses[0]});
        in_report = false;
      }
    } else if (in_access && !accesses.back()) {
      accesses.back() = place_of_frame(line, program);
    }
  }
  return found;
}

std::vector<std::string> differences(const std::vector<FoundRace>& found, const TestProgram& program) {
  std::vector<std::string> wrong;
  std::set<std::string> seen;
  for (const FoundRace& race : found) {
    bool is_expected = false;
    for (const auto& [label, expected] : program.races) {
      if (!is_pair_of(expected, race)) continue;
      is_expected = true;
      seen.insert(label);
    }
    const std::string complaint = "reported, not expected: " + race.text();
    if (!is_expected && std::ranges::find(wrong, complaint) == wrong.end()) wrong.push_back(complaint);
  }
  for (const auto& [label, expected] : program.races) {
    if (seen.contains(label) || expected.may_be_missing) continue;
    std::string lines;
    for (const SourceLine& line : expected.lines) lines += " " + text_of(line);
    wrong.push_back("expected, not reported: race '" + label + "' of" + lines);
  }
  if (program.findings && static_cast<int>(found.size()) != *program.findings) {
    wrong.push_back("expected " + std::to_string(*program.findings) + " findings, not " + std::to_string(found.size()));
  }
  return wrong;
}

}  // namespace deadheat::programs
