// SPDX-License-Identifier: Apache-2.0
// Hunts programs with several strategies and prints what was found, when, and at what
// cost. script/bench hunt makes tables and a plot of it.
//
//   hunt_measure [--deadheat PATH] [--directory DIR] [--seed NUMBER] found PLAN PROGRAM SOURCE ... > TABLE
//   hunt_measure [...] clean PLAN PROGRAM ... > TABLE
//   hunt_measure [...] deadlock PLAN PROGRAM ... > TABLE
//   hunt_measure [...] plain RUNS PROGRAM ... > TABLE
//
// PLAN is STRATEGY:RUNS,... where RUNS may be followed by xHUNTS: so many hunts with
// other seeds. All programs are hunted in turn, a hunt of each before the next, so that a
// busy minute of the machine is spread over all. Lines of TABLE, by their first word:
//
//   race      program, race, strategy, runs, hunt, first run that had it (0: none), runs
//             that had it
//   hunt      program, strategy, runs, hunt, milliseconds per run, requests, suspensions,
//             thrashings, timeouts, milliseconds of all threads suspended
//   deadlock  program, strategy, runs, hunt, first run (0: none), runs
//   plain     program, milliseconds per run, runs, runs that had a race
//   error     program, strategy, what is wrong
//
// found: SOURCE has the marks of hidden_races.h; whatever else is found is an error. clean:
// whatever is found is an error, and so is an output that the program alone does not
// have. deadlock: one is expected, and anything else is an error. plain: `deadheat run`, to
// compare with.
// Milliseconds of the runs of a hunt are those that it says; those of a plain run are
// from the start of the command to its end, which is a little more.
//
// Exit status: 0; 1 if there are errors; 2 if a hunt could not be made.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "hidden_races.h"

namespace {

using deadheat::bench::HiddenRaces;
using deadheat::bench::HuntVerdict;
using deadheat::bench::judge_hunt;
using deadheat::bench::Sighting;
using Json = nlohmann::json;

constexpr int kRacesFound = 66;

struct Settings {
  std::string deadheat = "deadheat";
  std::string directory = "hunt";  // of the hunts; files beside it have its name and more
  unsigned long seed = 1;          // other numbers make other hunts
};

struct HuntPlan {
  std::string strategy;
  int runs = 0;
  int hunts = 1;
};

[[noreturn]] void fail(const std::string& message) {
  std::fprintf(stderr, "hunt_measure: error: %s\n", message.c_str());
  std::exit(2);
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream rest(text);
  for (std::string part; std::getline(rest, part, separator);) parts.push_back(part);
  return parts;
}

int positive_number(const std::string& text) {
  const int number = std::atoi(text.c_str());
  if (number < 1) fail("expected a number, not '" + text + "'");
  return number;
}

std::vector<HuntPlan> parse_plans(const std::string& text) {
  std::vector<HuntPlan> plans;
  for (const std::string& part : split(text, ',')) {
    const std::vector<std::string> halves = split(part, ':');
    if (halves.size() != 2) fail("expected STRATEGY:RUNS, not '" + part + "'");
    const std::vector<std::string> numbers = split(halves[1], 'x');
    HuntPlan plan{halves[0], positive_number(numbers.at(0)), 1};
    if (numbers.size() > 1) plan.hunts = positive_number(numbers[1]);
    plans.push_back(plan);
  }
  return plans;
}

std::string name_of(const std::string& program) { return program.substr(program.rfind('/') + 1); }

// Of a hunt of a program: hunts of different programs must not draw the same lots, or
// they would all be lucky together.
unsigned long seed_of(unsigned long base, const std::string& program, int hunt) {
  unsigned long hash = 14695981039346656037UL;  // FNV-1a
  for (const char letter : name_of(program)) hash = (hash ^ static_cast<unsigned char>(letter)) * 1099511628211UL;
  return 1 + (hash + base * 7919 + static_cast<unsigned long>(hunt)) % 1'000'000;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

[[noreturn]] void become(const std::vector<std::string>& words, const std::string& output) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  const int file = ::open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  ::dup2(nowhere, STDIN_FILENO);
  ::dup2(file, STDOUT_FILENO);
  ::dup2(nowhere, STDERR_FILENO);
  ::alarm(600);  // kept by exec: a hunt that hangs is an error
  ::execvp(arguments[0], arguments.data());
  ::_exit(127);
}

// Its standard output goes to a file. The exit status; ends this program if there is none.
int run_command(const std::vector<std::string>& words, const std::string& output) {
  const pid_t child = ::fork();
  if (child < 0) fail(std::string("cannot fork: ") + std::strerror(errno));
  if (child == 0) become(words, output);
  int status = 0;
  if (::waitpid(child, &status, 0) != child) fail(std::string("cannot wait: ") + std::strerror(errno));
  if (!WIFEXITED(status)) fail(words.back() + " ended with status " + std::to_string(status));
  return WEXITSTATUS(status);
}

// Prints lines of the table and counts the errors.
class Table {
 public:
  void add(const std::vector<std::string>& fields) {
    std::string line;
    for (const std::string& field : fields) line += (line.empty() ? "" : "\t") + field;
    std::printf("%s\n", line.c_str());
    std::fflush(stdout);
  }
  void add_error(const std::string& program, const std::string& strategy, const std::string& what) {
    ++errors_;
    std::fprintf(stderr, "hunt_measure: error: %s (%s): %s\n", program.c_str(), strategy.c_str(), what.c_str());
    add({"error", program, strategy, what.substr(0, 200)});
  }
  [[nodiscard]] int errors() const { return errors_; }

 private:
  int errors_ = 0;
};

struct Program {
  std::string path;
  std::optional<HiddenRaces> marks;   // found
  std::optional<std::string> output;  // clean: of the program alone
};

// Sums over the runs of a hunt.
class HuntCost {
 public:
  explicit HuntCost(const Json& hunt) {
    for (const Json& run : hunt.at("runs")) {
      ++runs_;
      seconds_ += run.at("seconds").get<double>();
      const Json& counters = run.at("counters");
      requests_ += counters.at("requests").get<long>();
      suspensions_ += counters.at("suspensions").get<long>();
      thrashings_ += counters.at("thrashings").get<long>();
      timeouts_ += counters.at("timeouts").get<long>();
      suspended_ += 1e-6 * counters.at("suspended_ns").get<double>();
    }
  }

  [[nodiscard]] std::vector<std::string> fields() const {
    return {std::to_string(runs_ == 0 ? 0 : 1e3 * seconds_ / runs_),
            std::to_string(requests_),
            std::to_string(suspensions_),
            std::to_string(thrashings_),
            std::to_string(timeouts_),
            std::to_string(suspended_)};
  }

 private:
  int runs_ = 0;
  double seconds_ = 0;
  long requests_ = 0;
  long suspensions_ = 0;
  long thrashings_ = 0;
  long timeouts_ = 0;
  double suspended_ = 0;  // milliseconds
};

class Hunter {
 public:
  explicit Hunter(Settings settings) : settings_(std::move(settings)) {}

  // One hunt; `number` from 1.
  void hunt_marked(const Program& program, const HuntPlan& plan, int number) {
    const Json report = hunt(program, plan, number);
    const HuntVerdict verdict = judge_hunt(*program.marks, report);
    for (std::size_t at = 0; at < verdict.sightings.size(); ++at) {
      const Sighting& seen = verdict.sightings[at];
      table_.add({"race", name_of(program.path), program.marks->races()[at].name, plan.strategy,
                  std::to_string(plan.runs), std::to_string(number), std::to_string(seen.first_run),
                  std::to_string(seen.runs_seen)});
    }
    for (const std::string& what : verdict.unexpected) table_.add_error(name_of(program.path), plan.strategy, what);
  }

  void hunt_clean(const Program& program, const HuntPlan& plan, int number) {
    const Json report = hunt(program, plan, number);
    for (const char* what : {"races", "findings"}) {
      for (const Json& one : report.at(what)) {
        table_.add_error(name_of(program.path), plan.strategy, std::string(what) + ": " + one.dump());
      }
    }
    std::string expected;
    for (int run = 0; run < plan.runs; ++run) expected += *program.output;
    if (read_file(output_path()) != expected) {
      table_.add_error(name_of(program.path), plan.strategy, "the output is another one");
    }
  }

  void hunt_deadlock(const Program& program, const HuntPlan& plan, int number) {
    const Json report = hunt(program, plan, number);
    int first_run = 0;
    int runs_seen = 0;
    for (const Json& finding : report.at("findings")) {
      if (finding.at("kind") != "deadlock") {
        table_.add_error(name_of(program.path), plan.strategy, finding.dump());
        continue;
      }
      const int run = finding.at("first_run");
      if (first_run == 0 || run < first_run) first_run = run;
      runs_seen += finding.at("runs_seen").get<int>();
    }
    for (const Json& race : report.at("races")) {
      table_.add_error(name_of(program.path), plan.strategy, "a race that is none: " + race.dump());
    }
    table_.add({"deadlock", name_of(program.path), plan.strategy, std::to_string(plan.runs), std::to_string(number),
                std::to_string(first_run), std::to_string(runs_seen)});
  }

  void run_plainly(const Program& program, int runs) {
    using Clock = std::chrono::steady_clock;
    double seconds = 0;
    int racy = 0;
    for (int run = 0; run < runs; ++run) {
      const auto begin = Clock::now();
      const int status = run_command({settings_.deadheat, "run", "-q", "--", program.path}, output_path());
      seconds += std::chrono::duration<double>(Clock::now() - begin).count();
      if (status == kRacesFound) ++racy;
      if (status != 0 && status != kRacesFound) fail(program.path + " ended with " + std::to_string(status));
    }
    table_.add({"plain", name_of(program.path), std::to_string(1e3 * seconds / runs), std::to_string(runs),
                std::to_string(racy)});
  }

  [[nodiscard]] std::string output_of(const std::string& program) const {
    if (const int status = run_command({program}, output_path()); status != 0) {
      fail(program + " alone ended with " + std::to_string(status));
    }
    return read_file(output_path());
  }

  [[nodiscard]] int errors() const { return table_.errors(); }

 private:
  [[nodiscard]] std::string output_path() const { return settings_.directory + ".out"; }

  // Ends this program if there is no report.
  Json hunt(const Program& program, const HuntPlan& plan, int number) {
    const std::string path = settings_.directory + ".json";
    ::unlink(path.c_str());
    std::vector<std::string> words = {settings_.deadheat,
                                      "hunt",
                                      "-q",
                                      "--strategy",
                                      plan.strategy,
                                      "--runs",
                                      std::to_string(plan.runs),
                                      "--seed",
                                      std::to_string(seed_of(settings_.seed, program.path, number)),
                                      "--directory",
                                      settings_.directory,
                                      "--format",
                                      "json",
                                      "-o",
                                      path};
    if (program.output) words.emplace_back("--show-output");
    words.insert(words.end(), {"--", program.path});
    const int status = run_command(words, output_path());
    Json report = Json::parse(read_file(path), nullptr, false);
    if (report.is_discarded() || (status != 0 && status != kRacesFound)) {
      fail("no hunt of " + program.path + " (" + plan.strategy + "): status " + std::to_string(status));
    }
    std::vector<std::string> fields = {"hunt", name_of(program.path), plan.strategy, std::to_string(plan.runs),
                                       std::to_string(number)};
    for (std::string& field : HuntCost(report).fields()) fields.push_back(std::move(field));
    table_.add(fields);
    return report;
  }

  Settings settings_;
  Table table_;
};

using HuntOne = void (Hunter::*)(const Program&, const HuntPlan&, int);

void hunt_all(Hunter& hunter, HuntOne hunt_one, const std::vector<HuntPlan>& plans,
              const std::vector<Program>& programs) {
  int most = 0;
  for (const HuntPlan& plan : plans) most = std::max(most, plan.hunts);
  for (int number = 1; number <= most; ++number) {
    for (const Program& program : programs) {
      for (const HuntPlan& plan : plans) {
        if (number <= plan.hunts) (hunter.*hunt_one)(program, plan, number);
      }
      std::fprintf(stderr, "hunt_measure: %s, hunt %d\n", name_of(program.path).c_str(), number);
    }
  }
}

// The words after the name of what is to be done. Ends this program if they make no sense.
void measure(Hunter& hunter, const std::string& what, const std::string& plan, std::span<const std::string> words) {
  std::vector<Program> programs;
  if (what == "found") {
    if (words.size() % 2 != 0) fail("expected PROGRAM SOURCE ...");
    for (std::size_t at = 0; at < words.size(); at += 2) {
      programs.push_back({words[at], HiddenRaces::read(words[at + 1]), std::nullopt});
      if (!programs.back().marks) fail("no marks, or not in pairs, in '" + words[at + 1] + "'");
    }
    return hunt_all(hunter, &Hunter::hunt_marked, parse_plans(plan), programs);
  }
  for (const std::string& word : words) programs.push_back({word, std::nullopt, std::nullopt});
  if (what == "clean") {
    for (Program& program : programs) program.output = hunter.output_of(program.path);
    return hunt_all(hunter, &Hunter::hunt_clean, parse_plans(plan), programs);
  }
  if (what == "deadlock") return hunt_all(hunter, &Hunter::hunt_deadlock, parse_plans(plan), programs);
  if (what != "plain") fail("see the head of bench/programs/hunt_measure.cpp");
  for (const Program& program : programs) hunter.run_plainly(program, positive_number(plan));
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  const std::vector<std::string> words(argv + 1, argv + argc);
  std::span<const std::string> rest(words);
  for (; rest.size() > 1 && rest[0].starts_with("--"); rest = rest.subspan(2)) {
    if (rest[0] == "--deadheat") {
      settings.deadheat = rest[1];
    } else if (rest[0] == "--directory") {
      settings.directory = rest[1];
    } else if (rest[0] == "--seed") {
      settings.seed = std::strtoul(rest[1].c_str(), nullptr, 10);
    } else {
      fail("unknown option '" + rest[0] + "'");
    }
  }
  if (rest.size() < 3) fail("see the head of bench/programs/hunt_measure.cpp");
  Hunter hunter(std::move(settings));
  measure(hunter, rest[0], rest[1], rest.subspan(2));
  return hunter.errors() == 0 ? 0 : 1;
}
