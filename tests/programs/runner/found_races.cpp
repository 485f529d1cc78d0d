// SPDX-License-Identifier: Apache-2.0
#include "found_races.h"

#include <algorithm>
#include <map>
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

std::string words_of(const nlohmann::json& frame) {
  if (!frame.at("file").is_string() || !frame.at("line").is_number_integer()) return {};
  return std::filesystem::path(frame.at("file").get<std::string>()).filename().string() + ":" +
         std::to_string(frame.at("line").get<int>());
}

// As a trace names an address: of the functions that are inlined there, the innermost of the program's own, or
// else the innermost.
std::string code_of(const nlohmann::json& access) {
  const nlohmann::json& stack = access.at("stack");
  if (stack.empty()) return {};
  for (const nlohmann::json& frame : stack) {
    if (frame.at("file").is_string() && !frame.at("file").get<std::string>().starts_with("/usr/"))
      return words_of(frame);
    if (!frame.value("inlined", false)) break;
  }
  return words_of(stack[0]);
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

std::string pair_of(const FoundRace& race) {
  const std::string one = race.earlier_kind + " at " + race.earlier_code;
  const std::string other = race.later_kind + " at " + race.later_code;
  return std::min(one, other) + " and " + std::max(one, other);
}

// By event: the pairs that it makes on bytes that had no race before.
std::map<std::uint64_t, std::set<std::string>> first_races(std::vector<FoundRace> races) {
  std::ranges::sort(races, {}, &FoundRace::event_index);
  std::map<std::uint64_t, std::uint64_t> racy_since;  // by byte: the event
  std::map<std::uint64_t, std::set<std::string>> result;
  for (const FoundRace& race : races) {
    bool is_first = false;
    for (std::uint64_t byte = race.address; byte < race.address + race.size; ++byte) {
      is_first |= racy_since.try_emplace(byte, race.event_index).first->second == race.event_index;
    }
    if (is_first) result[race.event_index].insert(pair_of(race));
  }
  return result;
}

bool is_pair_of(const ExpectedRace& race, const FoundRace& found) {
  if (!found.earlier || !found.later) return false;
  if (!race.lines.contains(*found.earlier) || !race.lines.contains(*found.later)) return false;
  return race.lines.size() == 1 || *found.earlier != *found.later;
}

}  // namespace

std::vector<std::string> losses_in_json(const std::string& json) {
  std::vector<std::string> result;
  const nlohmann::json document = nlohmann::json::parse(json, nullptr, false);
  if (document.is_discarded() || !document.contains("losses")) return result;
  for (const auto& [name, count] : document.at("losses").items()) result.push_back(name + " (" + count.dump() + ")");
  return result;
}

std::string FoundRace::text() const { return text_of(earlier) + " and " + text_of(later); }

std::vector<FoundRace> races_in_json(const std::string& json, const TestProgram& program) {
  std::vector<FoundRace> found;
  try {
    const nlohmann::json report = nlohmann::json::parse(json);
    for (const nlohmann::json& finding : report.at("findings")) {
      const nlohmann::json& earlier = finding.at("earlier");
      const nlohmann::json& later = finding.at("later");
      FoundRace race{place_of(earlier, program), place_of(later, program)};
      race.earlier_kind = earlier.value("access", "");
      race.later_kind = later.value("access", "");
      race.earlier_code = code_of(earlier);
      race.later_code = code_of(later);
      race.occurrences = finding.value("occurrences", std::uint64_t{1});
      race.address = std::stoull(finding.value("address", "0x0"), nullptr, 16);
      race.size = finding.value("size", std::uint64_t{0});
      if (finding.contains("event_index") && finding["event_index"].is_number())
        race.event_index = finding["event_index"];
      found.push_back(std::move(race));
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

std::vector<std::string> disagreements(const std::vector<FoundRace>& online,
                                       const std::vector<std::vector<FoundRace>>& traces, Suppressed suppressed) {
  std::set<std::string> found;
  std::set<std::string> true_pairs;
  for (const FoundRace& race : online) found.insert(pair_of(race));
  for (const std::vector<FoundRace>& offline : traces) {
    for (const FoundRace& race : offline) true_pairs.insert(pair_of(race));
  }
  std::vector<std::string> wrong;
  for (const std::string& pair : found) {
    if (!true_pairs.contains(pair)) wrong.push_back("not in the recorded trace: " + pair);
  }
  if (suppressed == Suppressed::kSomething) return wrong;
  for (const std::vector<FoundRace>& offline : traces) {
    for (const auto& [event, pairs] : first_races(offline)) {
      const bool is_found = std::ranges::any_of(pairs, [&](const std::string& pair) { return found.contains(pair); });
      if (is_found) continue;
      std::string complaint = "in the recorded trace only, event " + std::to_string(event) + ":";
      for (const std::string& pair : pairs) complaint += " " + pair + ";";
      wrong.push_back(complaint);
    }
  }
  return wrong;
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
  if (program.occurrences) {
    std::uint64_t count = 0;
    for (const FoundRace& race : found) count += race.occurrences;
    const bool is_enough = program.occurrences->or_more && count > program.occurrences->count;
    if (count != program.occurrences->count && !is_enough) {
      wrong.push_back("expected " + std::to_string(program.occurrences->count) + " occurrences, not " +
                      std::to_string(count));
    }
  }
  return wrong;
}

}  // namespace deadheat::programs
