// SPDX-License-Identifier: Apache-2.0
#include "support/scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <utility>

#include "trace/text_reader.h"

namespace deadheat {

namespace {

// One block as written.
struct Block {
  std::string name;
  int line = 0;
  std::vector<std::string> settings;  // the `options` and `expect` lines
  std::string trace;
};

std::optional<std::uint64_t> number(std::string_view word) {
  int base = 10;
  if (word.starts_with("0x")) {
    word.remove_prefix(2);
    base = 16;
  }
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value, base);
  if (error != std::errc{} || end != word.data() + word.size()) return std::nullopt;
  return value;
}

std::optional<RaceKind> race_kind_of(std::string_view word) {
  static const std::map<std::string_view, RaceKind> kinds = {
      {"write-write", RaceKind::kWriteWrite},   {"read-write", RaceKind::kReadWrite},
      {"write-read", RaceKind::kWriteRead},     {"use-free", RaceKind::kUseFree},
      {"atomic-plain", RaceKind::kAtomicPlain},
  };
  const auto at = kinds.find(word);
  return at == kinds.end() ? std::nullopt : std::optional(at->second);
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

// `name`, `name+4` or an address, as (address, bytes to the end of the name).
std::optional<std::pair<Address, std::uint64_t>> find_place(const std::string& word, const Dictionary& dictionary) {
  if (const auto address = number(word)) return std::pair{*address, std::uint64_t{0}};
  const std::size_t plus = word.find('+');
  const std::string name = word.substr(0, plus);
  const std::uint64_t offset = plus == std::string::npos ? 0 : number(word.substr(plus + 1)).value_or(0);
  for (const auto& [begin, range] : dictionary.ranges) {
    if (range.name == name && offset < range.size) return std::pair{begin + offset, range.size - offset};
  }
  return std::nullopt;
}

std::optional<ExpectedRace> parse_race(const std::vector<std::string>& words, const Dictionary& dictionary) {
  const auto place = words.empty() ? std::nullopt : find_place(words[0], dictionary);
  if (!place) return std::nullopt;
  ExpectedRace race{place->first, place->second, std::nullopt};
  for (std::size_t at = 1; at < words.size(); ++at) {
    if (const auto size = number(words[at])) {
      race.size = *size;
    } else if (const auto kind = race_kind_of(words[at])) {
      race.kind = kind;
    } else {
      return std::nullopt;
    }
  }
  if (race.size == 0) return std::nullopt;
  return race;
}

std::vector<Block> split_blocks(std::string_view text) {
  std::vector<Block> blocks;
  std::istringstream stream{std::string(text)};
  int number_of_line = 0;
  for (std::string line; std::getline(stream, line);) {
    ++number_of_line;
    if (line.starts_with("== ")) {
      blocks.push_back(Block{line.substr(3), number_of_line, {}, {}});
    } else if (!blocks.empty() && (line.starts_with("expect ") || line.starts_with("options "))) {
      blocks.back().settings.push_back(line);
    } else if (!blocks.empty()) {
      blocks.back().trace += line + '\n';
    }
  }
  return blocks;
}

Result<Scenario> make_scenario(const Block& block, const std::string& file) {
  Scenario scenario;
  scenario.name = block.name;
  scenario.place = fmt::format("{}:{}", file, block.line);
  const auto malformed = [&](std::string_view what) {
    return Error{ErrorCode::kMalformed, fmt::format("{}: '{}': {}", scenario.place, block.name, what)};
  };
  Result<ParsedTrace> trace = parse_text_trace(block.trace);
  if (!trace.ok()) return malformed(trace.error().message);
  scenario.events = std::move(trace.value().events);
  scenario.dictionary = std::move(trace.value().dictionary);

  bool has_verdict = false;
  for (const std::string& setting : block.settings) {
    const std::vector<std::string> words = words_of(setting);
    if (words == std::vector<std::string>{"options", "strict-atomics"}) {
      scenario.options.release_sequences = ReleaseSequences::kCpp20;
    } else if (words == std::vector<std::string>{"expect", "none"}) {
      has_verdict = true;
    } else if (words.size() > 2 && words[0] == "expect" && words[1] == "race") {
      const auto race = parse_race({words.begin() + 2, words.end()}, scenario.dictionary);
      if (!race) return malformed("cannot understand '" + setting + "'");
      scenario.races.push_back(*race);
      has_verdict = true;
    } else {
      return malformed("cannot understand '" + setting + "'");
    }
  }
  if (!has_verdict) return malformed("no expect line");
  if (scenario.events.empty()) return malformed("no events");
  return scenario;
}

}  // namespace

std::vector<Detector::Range> Scenario::expected_bytes() const {
  std::vector<Detector::Range> ranges;
  for (const ExpectedRace& race : races) ranges.push_back({race.address, race.address + race.size});
  std::sort(ranges.begin(), ranges.end(), [](const auto& one, const auto& other) { return one.begin < other.begin; });
  std::vector<Detector::Range> merged;
  for (const Detector::Range& range : ranges) {
    if (!merged.empty() && range.begin <= merged.back().end) {
      merged.back().end = std::max(merged.back().end, range.end);
    } else {
      merged.push_back(range);
    }
  }
  return merged;
}

Result<std::vector<Scenario>> parse_scenarios(std::string_view text, const std::string& file) {
  std::vector<Scenario> scenarios;
  for (const Block& block : split_blocks(text)) {
    Result<Scenario> scenario = make_scenario(block, file);
    if (!scenario.ok()) return scenario.error();
    scenarios.push_back(std::move(scenario).value());
  }
  return scenarios;
}

Result<std::vector<Scenario>> load_scenarios(const std::string& directory) {
  std::vector<std::filesystem::path> files;
  std::error_code problem;
  for (const auto& entry : std::filesystem::directory_iterator(directory, problem)) {
    if (entry.path().extension() == ".txt") files.push_back(entry.path());
  }
  if (problem) return Error{ErrorCode::kIo, fmt::format("cannot list '{}': {}", directory, problem.message())};
  std::sort(files.begin(), files.end());

  std::vector<Scenario> all;
  for (const std::filesystem::path& path : files) {
    std::ifstream stream(path);
    if (!stream) return Error{ErrorCode::kIo, fmt::format("cannot open '{}'", path.string())};
    std::ostringstream text;
    text << stream.rdbuf();
    Result<std::vector<Scenario>> scenarios = parse_scenarios(text.str(), path.filename().string());
    if (!scenarios.ok()) return scenarios.error();
    std::move(scenarios.value().begin(), scenarios.value().end(), std::back_inserter(all));
  }
  return all;
}

std::string test_name(std::string_view words) {
  std::string name;
  bool starts_word = true;
  for (const char letter : words) {
    const auto code = static_cast<unsigned char>(letter);
    if (std::isalnum(code) == 0) {
      starts_word = true;
      continue;
    }
    name += starts_word ? static_cast<char>(std::toupper(code)) : letter;
    starts_word = false;
  }
  return name;
}

}  // namespace deadheat
