// SPDX-License-Identifier: Apache-2.0
// deadheat_random_programs: random programs, built and run in each way that Deadheat
// has, against an oracle that goes by the source. See README.md.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "command.h"
#include "found_races.h"
#include "program_text.h"
#include "verdict.h"

namespace deadheat::random_programs {

namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;
using Clock = std::chrono::steady_clock;

struct Settings {
  std::uint32_t seed = 1;
  int count = 1;
  int seconds = 0;  // 0: `count` programs, otherwise as many as fit
  std::string way;
  bool takes_all = false;
  std::string keep;
};

enum class Language : std::uint8_t { kC, kCpp };

// How a program is built, and how it is run.
struct Way {
  std::string name;
  Words build;
  Words run = {};
  Completeness completeness = Completeness::kAll;
  Language language = Language::kC;
  bool is_recorded = false;  // the trace of the run must have the same races
};

std::vector<Way> all_ways() {
  std::vector<Way> ways;
  for (const char* const level : {"-O0", "-O1", "-O2", "-O3"}) {
    const std::string name = level;
    ways.push_back({"clang pass " + name, {"--cc=clang-19", level}});
    ways.push_back({"gcc " + name, {"--cc=gcc", level}});
    ways.push_back({"clang calls " + name, {"--cc=clang-19", "--pass=no", level}});
    ways.push_back({"clang++ pass " + name, {"--cxx=clang++-19", level}});
    ways.push_back({"g++ " + name, {"--cxx=g++", level}});
    ways[ways.size() - 2].language = Language::kCpp;
    ways.back().language = Language::kCpp;
  }
  ways.push_back({"clang plain -O2", {"--cc=clang-19", "--pass=plain", "-O2"}});
  ways.push_back({"clang pass -O2 rate 100%", {"--cc=clang-19", "-O2"}, {"--rate", "100%"}});
  ways.push_back({"clang pass -O2 rate 30%", {"--cc=clang-19", "-O2"}, {"--rate", "30%"}, Completeness::kSome});
  ways.push_back({"gcc -O2 rate 100%", {"--cc=gcc", "-O2"}, {"--rate", "100%"}});
  for (const char* const compiler : {"clang-19", "gcc"}) {
    ways.push_back({std::string(compiler) + " -O2 recorded", {std::string("--cc=") + compiler, "-O2"}});
    ways.back().is_recorded = true;
  }
  return ways;
}

// Each program takes some of them, and as many programs as there are ways all, in equal parts.
constexpr std::uint32_t kWaysOfProgram = 5;

bool takes(const Settings& settings, std::uint32_t seed, std::uint32_t number, const Way& way) {
  if (!settings.way.empty()) return way.name.find(settings.way) != std::string::npos;
  return settings.takes_all || number % kWaysOfProgram == seed % kWaysOfProgram;
}

class Trial {
 public:
  explicit Trial(const Settings& settings)
      : settings_(settings), folder_(fs::temp_directory_path() / ("random_programs_" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
    must({"gcc", "-O2", "-c", DEADHEAT_RANDOM_SUPPORT "/scheduler.c", "-o", (folder_ / "scheduler.o").string()});
    must({"g++", "-std=c++20", "-O2", "-c", DEADHEAT_RANDOM_SUPPORT "/oracle.cpp", "-o",
          (folder_ / "oracle.o").string()});
  }
  ~Trial() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  // The number of disagreements.
  int run() {
    const auto end = Clock::now() + std::chrono::seconds(settings_.seconds);
    int programs = 0;
    int runs = 0;
    int failures = 0;
    for (std::uint32_t seed = settings_.seed;; ++seed) {
      if (settings_.seconds > 0 ? Clock::now() >= end : programs >= settings_.count) break;
      ++programs;
      make_program(seed);
      std::uint32_t number = 0;
      for (const Way& way : all_ways()) {
        if (!takes(settings_, seed, number++, way)) continue;
        if (settings_.seconds > 0 && Clock::now() >= end) break;
        ++runs;
        if (!agrees(seed, way)) ++failures;
      }
    }
    std::printf("%d random programs, %d runs, %d failed\n", programs, runs, failures);
    return failures;
  }

 private:
  void must(Words words) {
    const programs::CommandResult result =
        programs::run_command({std::move(words), {}, {}, std::chrono::seconds(120)}, folder_);
    if (result.status != 0) throw std::runtime_error(result.output);
  }

  void make_program(std::uint32_t seed) {
    ProgramText text = random_program(seed, __builtin_cpu_supports("avx2") != 0);
    vector_flags_.clear();
    if (text.uses_avx2) vector_flags_ = {"-mavx2"};
    source_ = folder_ / ("program_" + std::to_string(seed) + ".c");
    programs::write_file(source_, text.source);
    const fs::path oracle = folder_ / "oracle";
    Words build = {"gcc", "-O0", "-w", "-DRANDOM_PROGRAM_ORACLE", "-I" DEADHEAT_RANDOM_SUPPORT, source_.string()};
    build.insert(build.end(), vector_flags_.begin(), vector_flags_.end());
    for (const char* const object : {"scheduler.o", "oracle.o"}) build.push_back((folder_ / object).string());
    for (const char* const word : {"-lstdc++", "-lm", "-pthread", "-o"}) build.emplace_back(word);
    build.push_back(oracle.string());
    must(build);
    const programs::CommandResult ran = programs::run_command(
        {{oracle.string()}, {"RANDOM_PROGRAM_RACES=" + (folder_ / "races").string()}, {}, std::chrono::seconds(60)},
        folder_);
    if (ran.status != 0)
      throw std::runtime_error("the oracle of seed " + std::to_string(seed) + " fails: " + ran.output);
    truth_ = read_truth(folder_ / "races");
  }

  bool agrees(std::uint32_t seed, const Way& way) {
    std::vector<std::string> problems = check(way);
    if (problems.empty()) return true;
    std::printf("seed %u, %s:\n", seed, way.name.c_str());
    for (const std::string& problem : problems) std::printf("  %s\n", problem.c_str());
    std::printf("  repeat: deadheat_random_programs --seed %u --way '%s' --keep .\n", seed, way.name.c_str());
    std::fflush(stdout);
    if (!settings_.keep.empty()) fs::copy(source_, fs::path(settings_.keep), fs::copy_options::overwrite_existing);
    return false;
  }

  std::vector<std::string> check(const Way& way) {
    const fs::path program = folder_ / "program";
    const bool is_cpp = way.language == Language::kCpp;
    Words build = {DEADHEAT_COMMAND, is_cpp ? "c++" : "cc"};
    build.insert(build.end(), way.build.begin(), way.build.end());
    build.insert(build.end(), vector_flags_.begin(), vector_flags_.end());
    for (const std::string& word :
         Words{"-w", "-g", "-I" DEADHEAT_RANDOM_SUPPORT, "-x", is_cpp ? "c++" : "c", source_.string(), "-x", "none",
               (folder_ / "scheduler.o").string(), "-lm", "-o", program.string()}) {
      build.push_back(word);
    }
    const programs::CommandResult built = programs::run_command({build, {}, {}, std::chrono::seconds(120)}, folder_);
    if (built.status != 0) return {"does not build: " + built.output};
    const fs::path report = folder_ / "report.json";
    fs::remove(report);
    Words run = {DEADHEAT_COMMAND, "run", "--no-store", "--json", report.string()};
    const fs::path trace = folder_ / "trace";
    fs::remove(trace);
    if (way.is_recorded) run.push_back("--record=" + trace.string());
    run.insert(run.end(), way.run.begin(), way.run.end());
    run.push_back(program.string());
    const programs::CommandResult ran = programs::run_command({run, {}, {}, std::chrono::seconds(60)}, folder_);
    if (ran.timed_out) return {"does not end"};
    if (ran.status != 0 && ran.status != 66) return {"ends with " + std::to_string(ran.status) + ": " + ran.output};
    programs::TestProgram described;
    described.source = source_;
    const std::string document = programs::read_file(report);
    const std::vector<programs::FoundRace> found = programs::races_in_json(document, described);
    std::vector<std::string> problems = disagreements(found, truth_, way.completeness);
    if (way.is_recorded) {
      for (std::string& problem : problems_of_trace(trace, described)) problems.push_back(std::move(problem));
    }
    for (const std::string& loss : programs::losses_in_json(document)) {
      if (way.completeness == Completeness::kAll) problems.push_back("lost: " + loss);
    }
    return problems;
  }

  // The races of the trace go by the oracle, too.
  std::vector<std::string> problems_of_trace(const fs::path& trace, const programs::TestProgram& described) {
    const fs::path analysis = folder_ / "analysis.json";
    fs::remove(analysis);
    const programs::CommandResult analysed =
        programs::run_command({{DEADHEAT_COMMAND, "analyze", "--detector", "reference", "--format", "json", "--output",
                                analysis.string(), trace.string()},
                               {},
                               {},
                               std::chrono::seconds(60)},
                              folder_);
    if (analysed.status != 0 && analysed.status != 66) return {"the trace is not analysed: " + analysed.output};
    std::vector<std::string> problems =
        disagreements(programs::races_in_json(programs::read_file(analysis), described), truth_, Completeness::kSome);
    for (std::string& problem : problems) problem.insert(0, "in the trace: ");
    return problems;
  }

  Settings settings_;
  fs::path folder_;
  fs::path source_;
  Words vector_flags_;
  Truth truth_;
};

}  // namespace

}  // namespace deadheat::random_programs

int main(int argc, char** argv) {
  using namespace deadheat::random_programs;
  Settings settings;
  CLI::App app("Random programs against an oracle that goes by the source.");
  app.add_option("--seed", settings.seed, "The first seed")->capture_default_str();
  app.add_option("--count", settings.count, "So many programs")->capture_default_str();
  app.add_option("--seconds", settings.seconds, "As many programs as fit into this time")
      ->envname("DEADHEAT_RANDOM_SECONDS");
  app.add_option("--way", settings.way, "Only ways whose name has this in it, such as 'gcc -O2'");
  app.add_flag("--all-ways", settings.takes_all, "Each program in all ways, instead of a fifth of them");
  app.add_option("--keep", settings.keep, "A folder for the sources of programs that fail");
  CLI11_PARSE(app, argc, argv);
  try {
    return Trial(settings).run() == 0 ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "deadheat_random_programs: %s\n", error.what());
    return 2;
  }
}
