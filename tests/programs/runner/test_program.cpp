// SPDX-License-Identifier: Apache-2.0
#include "test_program.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <sstream>
#include <stdexcept>

namespace deadheat::programs {

namespace {

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

// Words up to a reason in parentheses.
std::vector<std::string> words_before_reason(const std::string& text) {
  return words_of(text.substr(0, text.find('(')));
}

// "g++ misses it", "misses it".
KnownDifference difference_of(const std::string& text) {
  for (const std::string compiler : {"g++", "clang"}) {
    if (text.starts_with(compiler + " ")) return {compiler, text.substr(compiler.size() + 1)};
  }
  return {"", text};
}

using MarkerReader = std::function<void(TestProgram&, const std::string&)>;

const std::map<std::string, MarkerReader>& marker_readers() {
  static const std::map<std::string, MarkerReader> readers = {
      {"compilers", [](TestProgram& p, const std::string& text) { p.compilers = words_before_reason(text); }},
      {"levels", [](TestProgram& p, const std::string& text) { p.levels = words_before_reason(text); }},
      {"flags", [](TestProgram& p, const std::string& text) { p.flags = words_of(text); }},
      {"libraries", [](TestProgram& p, const std::string& text) { p.libraries = words_of(text); }},
      {"package", [](TestProgram& p, const std::string& text) { p.packages = words_of(text); }},
      {"needs", [](TestProgram& p, const std::string& text) { p.needed_files = words_before_reason(text); }},
      {"options", [](TestProgram& p, const std::string& text) { p.options = text; }},
      {"suppress", [](TestProgram& p, const std::string& text) { p.suppressions += text + "\n"; }},
      {"stdin", [](TestProgram& p, const std::string& text) { p.input += text + "\n"; }},
      {"plugin", [](TestProgram& p, const std::string& text) { p.plugin = p.source.parent_path() / text; }},
      {"repeat", [](TestProgram& p, const std::string& text) { p.repeat = std::stoi(text); }},
      {"findings", [](TestProgram& p, const std::string& text) { p.findings = std::stoi(text); }},
      {"occurrences",
       [](TestProgram& p, const std::string& text) {
         p.occurrences = Occurrences{std::stoull(text), text.ends_with("+")};
       }},
      {"loses", [](TestProgram& p, const std::string&) { p.may_lose = true; }},
      {"record",
       [](TestProgram& p, const std::string& text) {
         const std::vector<std::string> words = words_before_reason(text);
         p.is_recorded = words != std::vector<std::string>{"no"};
         if (!p.is_recorded) return;
         if (words != std::vector<std::string>{"fasttrack"}) throw std::invalid_argument(text);
         p.recording_detector = words[0];
       }},
      {"long", [](TestProgram& p, const std::string&) { p.takes_long = true; }},
      {"tsan", [](TestProgram& p, const std::string& text) { p.differences.push_back(difference_of(text)); }},
      {"exit",
       [](TestProgram& p, const std::string& text) {
         p.exit_status = text == "any" ? std::nullopt : std::optional(std::stoi(text));
       }},
  };
  return readers;
}

// Markers stand alone on their line: "// key: value".
void read_marker(TestProgram& program, const std::string& line) {
  if (!line.starts_with("// ")) return;
  const std::size_t colon = line.find(": ", 3);
  if (colon == std::string::npos) return;
  const auto reader = marker_readers().find(line.substr(3, colon - 3));
  if (reader != marker_readers().end()) reader->second(program, line.substr(colon + 2));
}

// Code, then "// race" or "// race: A B?".
void read_race(TestProgram& program, const std::string& line, const SourceLine& place) {
  const std::size_t comment = line.find("// race");
  if (comment == std::string::npos || comment == 0) return;
  const std::string rest = line.substr(comment + 7);
  if (!rest.empty() && !rest.starts_with(": ")) return;
  std::vector<std::string> labels = rest.empty() ? std::vector<std::string>{"race"} : words_of(rest.substr(2));
  for (std::string label : labels) {
    const bool may_be_missing = label.ends_with("?");
    if (may_be_missing) label.pop_back();
    ExpectedRace& race = program.races[label];
    race.lines.insert(place);
    race.may_be_missing = race.may_be_missing || may_be_missing;
  }
}

void read_comments(TestProgram& program, const std::filesystem::path& file) {
  std::ifstream in(file);
  if (!in) throw std::runtime_error(file.string() + ": cannot be read");
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    try {
      read_marker(program, line);
    } catch (const std::logic_error&) {
      throw std::runtime_error(file.string() + ":" + std::to_string(number) + ": not understood: " + line);
    }
    read_race(program, line, {file.filename().string(), number});
  }
}

bool is_program(const std::filesystem::path& file) {
  const std::string extension = file.extension().string();
  return (extension == ".c" || extension == ".cpp") && !file.stem().string().ends_with("_plugin");
}

}  // namespace

bool TestProgram::is_file_of_program(const std::string& file) const {
  const std::string name_only = std::filesystem::path(file).filename().string();
  return name_only == source.filename() || (plugin && name_only == plugin->filename());
}

TestProgram read_program(const std::filesystem::path& source) {
  TestProgram program;
  program.source = source;
  const std::string folder = source.parent_path().filename().string();
  program.name = folder + "/" + source.stem().string();
  read_comments(program, source);
  if (program.plugin) read_comments(program, *program.plugin);
  const bool should_race = folder == "race";
  if (should_race == program.races.empty()) {
    throw std::runtime_error(source.string() + ": the marked lines contradict the folder");
  }
  return program;
}

std::string missing_for(const TestProgram& program) {
  for (const std::string& package : program.packages) {
    if (std::system(("pkg-config --exists " + package).c_str()) != 0)
      return "pkg-config knows no package '" + package + "'";
  }
  for (const std::string& file : program.needed_files) {
    if (!std::filesystem::exists(file)) return "there is no file '" + file + "'";
  }
  return {};
}

std::vector<TestProgram> find_programs(const std::filesystem::path& folder) {
  std::vector<TestProgram> programs;
  for (const char* kind : {"race", "norace"}) {
    for (const auto& entry : std::filesystem::directory_iterator(folder / kind)) {
      if (is_program(entry.path())) programs.push_back(read_program(entry.path()));
    }
  }
  std::ranges::sort(programs, {}, &TestProgram::name);
  return programs;
}

}  // namespace deadheat::programs
