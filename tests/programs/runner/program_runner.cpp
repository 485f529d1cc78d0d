// SPDX-License-Identifier: Apache-2.0
// Builds and runs the programs of tests/programs and checks what is reported
// against the comments beside their racing lines.
//
// Every program is built by g++ and by clang++, at -O0 and at -O2 (or at the levels that
// it names); each build is
// one task, and as many tasks run at once as there are cores. The exit status is
// 0 when all was as expected, 1 when not, 2 when the programs or the options
// make no sense. For each failure the commands that repeat it are printed.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <mutex>
#include <regex>
#include <set>
#include <thread>

#include "toolchain.h"

namespace deadheat::programs {

namespace {

struct Selection {
  std::string pattern;
  std::string compiler;
  std::string level;
  int repeat = 0;  // 0: what each program says
  bool with_long = false;
  bool half = false;  // of the builds: both compilers, one level each, in turn
};

struct Tally {
  std::atomic<int> runs = 0;
  std::atomic<int> failed = 0;
  std::atomic<int> known = 0;
  std::mutex printing;
};

bool contains(const std::vector<std::string>& list, const std::string& wanted) {
  return std::ranges::find(list, wanted) != list.end();
}

std::vector<Build> builds_of(const std::vector<TestProgram>& programs, const Selection& selection) {
  const std::regex pattern(selection.pattern);
  std::vector<Build> builds;
  std::size_t turn = 0;
  for (const TestProgram& program : programs) {
    if (program.takes_long && !selection.with_long) continue;
    ++turn;  // before some are left out, so that a part of the programs has the builds that all of them have
    if (!std::regex_search(program.name, pattern)) continue;
    for (const char* compiler : {"g++", "clang"}) {
      if (!contains(program.compilers, compiler)) continue;
      if (!selection.compiler.empty() && selection.compiler != compiler) continue;
      for (const char* level : {"-O0", "-O1", "-O2", "-O3"}) {
        if (!contains(program.levels, level)) continue;
        if (!selection.level.empty() && selection.level != level) continue;
        // g++ -O0 and clang -O2 for one program, g++ -O2 and clang -O0 for the next.
        const bool is_gcc = std::string_view(compiler) == "g++";
        const bool is_plain = std::string_view(level) < "-O2";
        if (selection.half && program.levels.size() > 1 && (is_gcc == is_plain) != (turn % 2 == 0)) continue;
        builds.push_back({&program, compiler, level});
      }
    }
  }
  return builds;
}

void print_failure(Tally& tally, const Build& build, const std::vector<std::string>& wrong, const std::string& how) {
  const std::scoped_lock lock(tally.printing);
  std::printf("FAILED %s, %s %s\n", build.program->name.c_str(), build.compiler.c_str(), build.level.c_str());
  for (const std::string& line : wrong) std::printf("  %s\n", line.c_str());
  std::printf("  repeat: %s\n", how.c_str());
  std::fflush(stdout);
}

// Only a comparison knows differences; with our own runtime there are none.
const KnownDifference* known_difference(const Build& build, Runtime runtime) {
  if (runtime != Runtime::kTsan) return nullptr;
  for (const KnownDifference& difference : build.program->differences) {
    if (difference.compiler.empty() || difference.compiler == build.compiler) return &difference;
  }
  return nullptr;
}

void print_known(Tally& tally, const Build& build, const KnownDifference& known,
                 const std::vector<std::string>& wrong) {
  ++tally.known;
  const std::scoped_lock lock(tally.printing);
  std::printf("known: %s, %s %s: %s\n", build.program->name.c_str(), build.compiler.c_str(), build.level.c_str(),
              known.what.c_str());
  for (const std::string& line : wrong) std::printf("  %s\n", line.c_str());
}

class Runner {
 public:
  Runner(Toolchain& toolchain, const Toolchain::Settings& settings, int repeat)
      : toolchain_(toolchain),
        runtime_(settings.runtime),
        cache_(settings.cache),
        repeat_(repeat),
        records_(settings.records) {}

  void run_all(const std::vector<Build>& builds, unsigned threads) {
    std::atomic<std::size_t> next = 0;
    std::vector<std::jthread> workers;
    for (unsigned worker = 0; worker < threads; ++worker) {
      workers.emplace_back([&, worker] {
        const std::filesystem::path scratch =
            cache_ / ("run-" + std::to_string(getpid()) + "-" + std::to_string(worker));
        std::filesystem::create_directories(scratch);
        for (std::size_t at = next++; at < builds.size(); at = next++) run_build(builds[at], scratch);
        std::filesystem::remove_all(scratch);
      });
    }
  }

  Tally tally;

 private:
  void run_build(const Build& build, const std::filesystem::path& scratch) try {
    const BuiltProgram built = toolchain_.build(build);
    if (!built.problem.empty()) {
      ++tally.failed;
      print_failure(tally, build, {"does not compile"}, built.problem);
      return;
    }
    const int times = repeat_ > 0 ? std::max(repeat_, build.program->repeat) : build.program->repeat;
    for (int time = 0; time < times; ++time) {
      std::filesystem::remove(scratch / "report");
      for (const std::filesystem::path& trace : Toolchain::traces_in(scratch)) std::filesystem::remove(trace);
      const Command command = toolchain_.run_command_of(build, built, scratch);
      const CommandResult result = run_command(command, scratch);
      ++tally.runs;
      std::vector<std::string> wrong = toolchain_.judge(build, result, scratch);
      if (wrong.empty() && records_ && build.program->is_recorded) wrong = toolchain_.judge_recording(build, scratch);
      if (wrong.empty()) continue;
      if (const KnownDifference* known = known_difference(build, runtime_)) {
        print_known(tally, build, *known, wrong);
      } else {
        ++tally.failed;
        print_failure(tally, build, wrong, command.text() + "\n  run " + std::to_string(time + 1));
      }
      return;
    }
  } catch (const std::exception& error) {
    ++tally.failed;
    print_failure(tally, build, {error.what()}, "");
  }

  Toolchain& toolchain_;
  Runtime runtime_;
  std::filesystem::path cache_;
  int repeat_;
  bool records_;
};

int report(const Tally& tally, std::size_t programs, double seconds) {
  if (tally.known > 0) std::printf("%d known differences\n", tally.known.load());
  std::printf("%zu programs, %d runs, %d failed, %.0f s\n", programs, tally.runs.load(), tally.failed.load(), seconds);
  if (programs == 0) std::fprintf(stderr, "program_runner: error: no program matches\n");
  return programs == 0 ? 2 : tally.failed == 0 ? 0 : 1;
}

}  // namespace

}  // namespace deadheat::programs

int main(int argc, char** argv) try {
  using namespace deadheat::programs;
  CLI::App app("Runs the test programs and checks what is reported.");
  Toolchain::Settings settings;
  settings.programs = DEADHEAT_PROGRAMS_DIR;
  settings.cache = DEADHEAT_PROGRAMS_CACHE;
  settings.deadheat = DEADHEAT_COMMAND;
  setenv("DEADHEAT_STORE", "none", 0);  // hundreds of runs that nobody will ask for
  Selection selection;
  unsigned jobs = std::max(1u, std::thread::hardware_concurrency());
  bool with_tsan = false;
  bool only_list = false;
  app.add_option("--only", selection.pattern, "Programs whose name, like race/free_deep, has this regular expression");
  app.add_option("--compiler", selection.compiler, "Only this one")->check(CLI::IsMember({"g++", "clang"}));
  app.add_option("--level", selection.level, "Only this one")->check(CLI::IsMember({"-O0", "-O1", "-O2", "-O3"}));
  app.add_option("--repeat", selection.repeat, "Run each build so many times, or as often as its program asks");
  app.add_option("--jobs", jobs, "Tasks at once")->check(CLI::PositiveNumber);
  app.add_option("--deadheat", settings.deadheat, "The command to test");
  app.add_option("--programs", settings.programs, "The folder with race and norace");
  app.add_option("--cache", settings.cache, "Where built programs are kept");
  app.add_option("--pass", settings.pass, "How clang checks accesses; without it, as the wrapper chooses")
      ->check(CLI::IsMember({"no", "plain", "full"}));
  app.add_flag("--half", selection.half, "Each program with both compilers, at one level each");
  app.add_flag("--long", selection.with_long, "Also the programs that take long");
  app.add_flag("--tsan", with_tsan, "Use the compilers' own runtime instead, for comparison");
  app.add_flag("--record", settings.records, "Also record each run, and compare it with the reference detector");
  app.add_option("--rate", settings.rate,
                 "Sample, as in 30%; below 100% what is found must be expected, not all of it found");
  app.add_flag("--list", only_list, "Print the names and end");
  CLI11_PARSE(app, argc, argv);
  settings.runtime = with_tsan ? Runtime::kTsan : Runtime::kDeadheat;
  if (with_tsan && settings.records) throw std::runtime_error("--tsan cannot record");
  if (!settings.rate.empty() && (with_tsan || settings.records)) throw std::runtime_error("--rate goes alone");

  const auto begin = std::chrono::steady_clock::now();
  const std::vector<TestProgram> programs = find_programs(settings.programs);
  std::vector<Build> builds = builds_of(programs, selection);
  std::map<std::string, std::string> skipped;  // why, by name
  for (const Build& build : builds) {
    if (skipped.contains(build.program->name) || only_list) continue;
    if (const std::string reason = missing_for(*build.program); !reason.empty()) skipped[build.program->name] = reason;
  }
  for (const auto& [name, reason] : skipped) std::printf("skipped %s: %s\n", name.c_str(), reason.c_str());
  std::erase_if(builds, [&](const Build& build) { return skipped.contains(build.program->name); });
  std::set<std::string> names;
  for (const Build& build : builds) names.insert(build.program->name);
  if (only_list) {
    for (const std::string& name : names) std::puts(name.c_str());
    return 0;
  }
  Toolchain toolchain(settings);
  Runner runner(toolchain, settings, selection.repeat);
  runner.run_all(builds, jobs);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  return report(runner.tally, names.size() + skipped.size(), took.count());
} catch (const std::exception& error) {
  std::fprintf(stderr, "program_runner: error: %s\n", error.what());
  return 2;
}
