// SPDX-License-Identifier: Apache-2.0
// Runs programs again and again under `deadheat run --rate`, and prints what was found
// and how much was sampled. script/bench sampling makes tables and plots of it.
//
//   sampling_measure [--deadheat PATH] [--scratch FILE] [--horizon TIME] found RATE:RUNS,... PROGRAM SOURCE ... > TABLE
//   sampling_measure [--deadheat PATH] [--scratch FILE] literace SOURCE REPORT ... > TABLE
//   sampling_measure [--deadheat PATH] [--scratch FILE] effective RATE:RUNS,... < COMMANDS > TABLE
//
// found: SOURCE has the marks of sampling_program.h. A finding belongs to a race when
// the two lines are the two marked ones; any other finding is an error, because the
// programs have no other races. A line of TABLE:
//
//   program, race, kind, rate in percent, runs, runs that found it, that as a share, its
//   95% interval (Wilson: two numbers), occurrences found per run, half the width of
//   the 95% interval of their mean, sampled work as a share of all work of all runs
//
// literace: the same marks and a report of `deadheat analyze --format json`. A line:
// program, race, kind, occurrences.
//
// effective: a line of COMMANDS is a label, a tab, the program and its arguments
// separated by single spaces. A line of TABLE: label, rate in percent, runs, mean and
// standard deviation of the effective rate in percent, its least and its most, mean
// number of periods, mean work in milliseconds.
//
// A rate is in percent. All is run in turn, a round of everything before the next, so
// that a busy minute of the machine is spread over all. Seeds are the runtime's own.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <regex>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace {

using Json = nlohmann::json;

struct Settings {
  std::string deadheat = "deadheat";
  std::string scratch = "sampling.json";
  std::string horizon;  // empty: as it is without the option
};

struct RatePlan {
  std::string percent;
  int runs = 0;
};

[[noreturn]] void fail(const std::string& message) {
  std::fprintf(stderr, "sampling_measure: error: %s\n", message.c_str());
  std::exit(2);
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream rest(text);
  for (std::string part; std::getline(rest, part, separator);) parts.push_back(part);
  return parts;
}

std::vector<RatePlan> parse_plans(const std::string& text) {
  std::vector<RatePlan> plans;
  for (const std::string& part : split(text, ',')) {
    const std::vector<std::string> halves = split(part, ':');
    if (halves.size() != 2 || std::atoi(halves[1].c_str()) < 1) fail("expected RATE:RUNS, not '" + part + "'");
    plans.push_back({halves[0], std::atoi(halves[1].c_str())});
  }
  return plans;
}

// The mean of single values, and how far it can be trusted.
class Sample {
 public:
  void add(double value) {
    ++count_;
    sum_ += value;
    squares_ += value * value;
    least_ = count_ == 1 ? value : std::min(least_, value);
    most_ = count_ == 1 ? value : std::max(most_, value);
  }
  [[nodiscard]] double mean() const { return count_ == 0 ? 0 : sum_ / count_; }
  [[nodiscard]] double deviation() const {
    if (count_ < 2) return 0;
    return std::sqrt(std::max(0.0, (squares_ - sum_ * sum_ / count_) / (count_ - 1)));
  }
  // Half of the 95% interval of the mean.
  [[nodiscard]] double uncertainty() const { return count_ == 0 ? 0 : 1.96 * deviation() / std::sqrt(count_); }
  [[nodiscard]] double least() const { return least_; }
  [[nodiscard]] double most() const { return most_; }

 private:
  int count_ = 0;
  double sum_ = 0;
  double squares_ = 0;
  double least_ = 0;
  double most_ = 0;
};

struct Interval {
  double low = 0;
  double high = 1;
};

// Wilson's 95% interval of a probability, of which `hits` of `runs` were seen.
Interval wilson(int hits, int runs) {
  constexpr double kZ = 1.96;
  const double n = runs;
  const double share = hits / n;
  const double center = share + kZ * kZ / (2 * n);
  const double spread = kZ * std::sqrt(share * (1 - share) / n + kZ * kZ / (4 * n * n));
  const double whole = 1 + kZ * kZ / n;
  return {std::max(0.0, (center - spread) / whole), std::min(1.0, (center + spread) / whole)};
}

Json read_report(const std::string& path) {
  std::ifstream file(path);
  Json report = Json::parse(file, nullptr, false);
  if (report.is_discarded()) fail("no report in '" + path + "'");
  return report;
}

[[noreturn]] void become(const std::vector<std::string>& words) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(nowhere, descriptor);
  ::alarm(120);  // kept by exec: a run that hangs is an error
  ::execvp(arguments[0], arguments.data());
  ::_exit(127);
}

// The report of one run. Ends this program if the run did not end well.
Json run_once(const Settings& settings, const std::string& percent, const std::vector<std::string>& command) {
  std::vector<std::string> words = {settings.deadheat, "run",  "--no-store", "--rate",        percent + "%",
                                    "--format",        "json", "--output",   settings.scratch};
  if (!settings.horizon.empty()) words.insert(words.end(), {"--horizon", settings.horizon});
  words.emplace_back("--");
  words.insert(words.end(), command.begin(), command.end());
  ::unlink(settings.scratch.c_str());
  const pid_t child = ::fork();
  if (child < 0) fail(std::string("cannot fork: ") + std::strerror(errno));
  if (child == 0) become(words);
  int status = 0;
  if (::waitpid(child, &status, 0) != child) fail(std::string("cannot wait: ") + std::strerror(errno));
  constexpr int kRacesFound = 66;
  if (!WIFEXITED(status) || (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != kRacesFound)) {
    fail(command[0] + " at " + percent + "% ended with status " + std::to_string(status));
  }
  Json report = read_report(settings.scratch);
  if (!report["sampling"].is_object()) fail(command[0] + ": the report does not say what was sampled");
  if (report["run"]["exit_status"] != 0) fail(command[0] + " at " + percent + "% failed: " + report["run"].dump());
  return report;
}

struct Race {
  std::string name;
  std::string kind;
  int first_line = 0;
  int second_line = 0;
};

class SeededProgram {
 public:
  SeededProgram(std::string command, const std::string& source) : command_(std::move(command)) {
    file_ = source.substr(source.rfind('/') + 1);
    std::ifstream text(source);
    if (!text) fail("cannot open '" + source + "'");
    const std::regex mark("// (first|second) of ([a-z_]+)(: ([a-z ]+))?$");
    int number = 0;
    for (std::string line; std::getline(text, line);) {
      ++number;
      std::smatch parts;
      if (std::regex_search(line, parts, mark)) add_mark(parts, number);
    }
    if (races_.empty()) fail("no marks in '" + source + "'");
  }

  [[nodiscard]] const std::string& command() const { return command_; }
  [[nodiscard]] std::string name() const { return file_.substr(0, file_.rfind('.')); }
  [[nodiscard]] const std::vector<Race>& races() const { return races_; }

  // Occurrences of each race in a report.
  [[nodiscard]] std::vector<double> occurrences(const Json& report) const {
    std::vector<double> counts(races_.size());
    for (const Json& finding : report["findings"]) {
      const int earlier = line_of(finding["earlier"]);
      const int later = line_of(finding["later"]);
      bool is_seeded = false;
      for (std::size_t at = 0; at < races_.size(); ++at) {
        const Race& race = races_[at];
        const bool is_forth = earlier == race.first_line && later == race.second_line;
        const bool is_back = earlier == race.second_line && later == race.first_line;
        if (!is_forth && !(is_back && race.kind == "at will")) continue;
        is_seeded = true;
        counts[at] += finding["occurrences"].get<double>();
      }
      if (!is_seeded) fail(command_ + ": a race that is none: " + finding.dump());
    }
    return counts;
  }

 private:
  void add_mark(const std::smatch& parts, int number) {
    const std::string name = parts[2];
    auto race = std::find_if(races_.begin(), races_.end(), [&](const Race& one) { return one.name == name; });
    if (race == races_.end()) race = races_.insert(races_.end(), Race{name, "", 0, 0});
    (parts[1] == "first" ? race->first_line : race->second_line) = number;
    if (parts[4].matched) race->kind = parts[4];
  }

  // The innermost frame in the source; 0: none.
  [[nodiscard]] int line_of(const Json& side) const {
    for (const Json& frame : side["stack"]) {
      if (!frame["file"].is_string()) continue;
      const std::string file = frame["file"];
      if (file.substr(file.rfind('/') + 1) == file_) return frame["line"];
    }
    return 0;
  }

  std::string command_;
  std::string file_;
  std::vector<Race> races_;
};

// What the runs of one program at one rate gave.
struct Tally {
  struct OfRace {
    int found = 0;
    Sample occurrences;
  };

  void add(const SeededProgram& program, const Json& report) {
    const std::vector<double> counts = program.occurrences(report);
    races.resize(counts.size());
    for (std::size_t at = 0; at < counts.size(); ++at) {
      races[at].found += counts[at] > 0 ? 1 : 0;
      races[at].occurrences.add(counts[at]);
    }
    ++runs;
    work += report["sampling"]["work_ns"].get<double>();
    sampled += report["sampling"]["sampled_work_ns"].get<double>();
  }
  [[nodiscard]] double effective_rate() const { return work > 0 ? sampled / work : 0; }

  int runs = 0;
  double work = 0;
  double sampled = 0;
  std::vector<OfRace> races;
};

void print_tally(const SeededProgram& program, const RatePlan& plan, const Tally& tally) {
  for (std::size_t at = 0; at < program.races().size(); ++at) {
    const Race& race = program.races()[at];
    const Tally::OfRace& counted = tally.races[at];
    const Interval interval = wilson(counted.found, tally.runs);
    std::printf("%s\t%s\t%s\t%s\t%d\t%d\t%.5f\t%.5f\t%.5f\t%.4f\t%.4f\t%.5f\n", program.name().c_str(),
                race.name.c_str(), race.kind.c_str(), plan.percent.c_str(), tally.runs, counted.found,
                static_cast<double>(counted.found) / tally.runs, interval.low, interval.high,
                counted.occurrences.mean(), counted.occurrences.uncertainty(), tally.effective_rate());
  }
}

int most_runs(const std::vector<RatePlan>& plans) {
  int most = 0;
  for (const RatePlan& plan : plans) most = std::max(most, plan.runs);
  return most;
}

void measure_found(const Settings& settings, const std::vector<RatePlan>& plans,
                   const std::vector<SeededProgram>& programs) {
  std::vector<std::vector<Tally>> tallies(programs.size(), std::vector<Tally>(plans.size()));
  for (int round = 0; round < most_runs(plans); ++round) {
    for (std::size_t program = 0; program < programs.size(); ++program) {
      for (std::size_t plan = 0; plan < plans.size(); ++plan) {
        if (round >= plans[plan].runs) continue;
        tallies[program][plan].add(programs[program],
                                   run_once(settings, plans[plan].percent, {programs[program].command()}));
      }
    }
    if ((round + 1) % 50 == 0) std::fprintf(stderr, "sampling_measure: round %d\n", round + 1);
  }
  for (std::size_t program = 0; program < programs.size(); ++program) {
    for (std::size_t plan = 0; plan < plans.size(); ++plan) {
      print_tally(programs[program], plans[plan], tallies[program][plan]);
    }
  }
}

void print_literace(const SeededProgram& program, const std::string& report) {
  const std::vector<double> counts = program.occurrences(read_report(report));
  for (std::size_t at = 0; at < counts.size(); ++at) {
    const Race& race = program.races()[at];
    std::printf("%s\t%s\t%s\t%.0f\n", program.name().c_str(), race.name.c_str(), race.kind.c_str(), counts[at]);
  }
}

struct Command {
  std::string label;
  std::vector<std::string> words;
};

std::vector<Command> read_commands() {
  std::vector<Command> commands;
  for (std::string line; std::getline(std::cin, line);) {
    const std::vector<std::string> halves = split(line, '\t');
    if (halves.size() != 2) fail("expected LABEL, a tab, COMMAND: '" + line + "'");
    commands.push_back({halves[0], split(halves[1], ' ')});
  }
  return commands;
}

struct Effective {
  Sample rate;
  Sample periods;
  Sample work;
};

void measure_effective(const Settings& settings, const std::vector<RatePlan>& plans) {
  const std::vector<Command> commands = read_commands();
  std::vector<std::vector<Effective>> measured(commands.size(), std::vector<Effective>(plans.size()));
  for (int round = 0; round < most_runs(plans); ++round) {
    for (std::size_t command = 0; command < commands.size(); ++command) {
      for (std::size_t plan = 0; plan < plans.size(); ++plan) {
        if (round >= plans[plan].runs) continue;
        const Json report = run_once(settings, plans[plan].percent, commands[command].words);
        Effective& sums = measured[command][plan];
        sums.rate.add(100 * report["sampling"]["effective_rate"].get<double>());
        sums.periods.add(report["sampling"]["periods"]);
        sums.work.add(1e-6 * report["sampling"]["work_ns"].get<double>());
      }
    }
    std::fprintf(stderr, "sampling_measure: round %d\n", round + 1);
  }
  for (std::size_t command = 0; command < commands.size(); ++command) {
    for (std::size_t plan = 0; plan < plans.size(); ++plan) {
      const Effective& sums = measured[command][plan];
      std::printf("%s\t%s\t%d\t%.4f\t%.4f\t%.4f\t%.4f\t%.1f\t%.0f\n", commands[command].label.c_str(),
                  plans[plan].percent.c_str(), plans[plan].runs, sums.rate.mean(), sums.rate.deviation(),
                  sums.rate.least(), sums.rate.most(), sums.periods.mean(), sums.work.mean());
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  std::vector<std::string> words(argv + 1, argv + argc);
  std::span<const std::string> rest(words);
  for (; rest.size() > 1 && rest[0].starts_with("--"); rest = rest.subspan(2)) {
    if (rest[0] == "--deadheat") {
      settings.deadheat = rest[1];
    } else if (rest[0] == "--scratch") {
      settings.scratch = rest[1];
    } else if (rest[0] == "--horizon") {
      settings.horizon = rest[1];
    } else {
      fail("unknown option '" + rest[0] + "'");
    }
  }
  if (rest.size() == 2 && rest[0] == "effective") {
    measure_effective(settings, parse_plans(rest[1]));
  } else if (rest.size() >= 4 && rest.size() % 2 == 0 && rest[0] == "found") {
    std::vector<SeededProgram> programs;
    for (std::size_t at = 2; at < rest.size(); at += 2) programs.emplace_back(rest[at], rest[at + 1]);
    measure_found(settings, parse_plans(rest[1]), programs);
  } else if (rest.size() >= 3 && rest.size() % 2 == 1 && rest[0] == "literace") {
    for (std::size_t at = 1; at < rest.size(); at += 2) print_literace(SeededProgram("", rest[at]), rest[at + 1]);
  } else {
    fail("see the head of bench/programs/sampling_measure.cpp");
  }
  return 0;
}
