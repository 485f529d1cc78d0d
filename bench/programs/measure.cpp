// SPDX-License-Identifier: Apache-2.0
// Runs a list of commands again and again in turn and prints what each takes.
//
//   measure [--runs N] [--time-limit SECONDS] < COMMANDS > TABLE
//
// A line of COMMANDS: a label, a tab, the program and its arguments separated by
// single spaces (no shell, no quoting). A line of TABLE: the label, seconds of
// CPU time, peak kilobytes of resident memory, "ok" or what went wrong; columns
// separated by tabs.
//
// CPU time is user plus system time of the process and the children it waited
// for. Other programs on the machine can only add to it (caches, wake-ups), so
// the least of the runs is the best estimate; running the commands in turn, a
// whole round of all before the next, spreads a busy minute over all of them.
// Memory: the least of the peaks, for the same reason.
//
// A command that ends with a code other than 0, by a signal or by the time limit
// is not run again and has no figures. So has one whose standard output differs
// between runs: the commands measured here are to compute the same thing each
// time. Standard error goes nowhere.
//
// Limit: the kernel counts the pages that this process had at the fork into the
// child's peak; link it statically to keep that near 1 MB.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <limits>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace {

struct Settings {
  int runs = 5;
  unsigned time_limit_seconds = 300;
};

struct Command {
  std::string label;
  std::vector<std::string> words;
  std::string output;
  std::string verdict = "ok";
  double seconds = std::numeric_limits<double>::max();
  long peak_kilobytes = std::numeric_limits<long>::max();
};

[[noreturn]] void fail(const std::string& message) {
  std::fprintf(stderr, "measure: error: %s\n", message.c_str());
  std::exit(2);
}

int parse_count(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 1) {
    fail("not a positive number: '" + std::string(text) + "'");
  }
  return value;
}

Settings parse_settings(int argc, char** argv) {
  Settings settings;
  for (int at = 1; at < argc; at += 2) {
    const std::string_view name = argv[at];
    if (at + 1 == argc) fail("'" + std::string(name) + "' is unknown or lacks its value");
    if (name == "--runs") {
      settings.runs = parse_count(argv[at + 1]);
    } else if (name == "--time-limit") {
      settings.time_limit_seconds = static_cast<unsigned>(parse_count(argv[at + 1]));
    } else {
      fail("unknown option '" + std::string(name) + "'");
    }
  }
  return settings;
}

std::vector<Command> read_commands() {
  std::vector<Command> commands;
  for (std::string line; std::getline(std::cin, line);) {
    if (line.empty()) continue;
    const std::size_t tab = line.find('\t');
    if (tab == std::string::npos || tab + 1 == line.size()) fail("expected LABEL, a tab, COMMAND: '" + line + "'");
    Command command;
    command.label = line.substr(0, tab);
    std::istringstream rest(line.substr(tab + 1));
    for (std::string word; rest >> word;) command.words.push_back(word);
    commands.push_back(std::move(command));
  }
  return commands;
}

// The alarm is kept by exec and kills the program, which does not know of it.
[[noreturn]] void become(const Command& command, int output, unsigned time_limit_seconds) {
  std::vector<char*> arguments;
  for (const std::string& word : command.words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  ::dup2(nowhere, STDIN_FILENO);
  ::dup2(nowhere, STDERR_FILENO);
  ::dup2(output, STDOUT_FILENO);
  ::alarm(time_limit_seconds);
  ::execvp(arguments[0], arguments.data());
  ::_exit(127);
}

std::string read_all(int descriptor) {
  std::string text;
  char buffer[4096];
  for (;;) {
    const ssize_t count = ::read(descriptor, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return text;
    text.append(buffer, static_cast<std::size_t>(count));
  }
}

std::string describe_end(int status) {
  if (WIFSIGNALED(status)) {
    return WTERMSIG(status) == SIGALRM ? "time limit" : "signal " + std::to_string(WTERMSIG(status));
  }
  return WEXITSTATUS(status) == 0 ? "ok" : "exit " + std::to_string(WEXITSTATUS(status));
}

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

void run_once(Command& command, const Settings& settings) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) fail(std::string("cannot make a pipe: ") + std::strerror(errno));
  const pid_t child = ::fork();
  if (child < 0) fail(std::string("cannot fork: ") + std::strerror(errno));
  if (child == 0) become(command, ends[1], settings.time_limit_seconds);
  ::close(ends[1]);
  const std::string output = read_all(ends[0]);
  ::close(ends[0]);
  int status = 0;
  rusage usage{};
  if (::wait4(child, &status, 0, &usage) != child) fail(std::string("cannot wait: ") + std::strerror(errno));
  command.verdict = describe_end(status);
  if (command.verdict != "ok") return;
  if (command.output.empty()) command.output = output;
  if (command.output != output) command.verdict = "other output";
  command.seconds = std::min(command.seconds, seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime));
  command.peak_kilobytes = std::min(command.peak_kilobytes, usage.ru_maxrss);
}

}  // namespace

int main(int argc, char** argv) {
  const Settings settings = parse_settings(argc, argv);
  std::vector<Command> commands = read_commands();
  for (int run = 0; run < settings.runs; ++run) {
    for (Command& command : commands) {
      if (command.verdict == "ok") run_once(command, settings);
    }
    std::fprintf(stderr, "measure: round %d of %d\n", run + 1, settings.runs);
  }
  for (const Command& command : commands) {
    const bool measured = command.verdict == "ok";
    std::printf("%s\t%.4f\t%ld\t%s\n", command.label.c_str(), measured ? command.seconds : 0.0,
                measured ? command.peak_kilobytes : 0, command.verdict.c_str());
  }
  return 0;
}
