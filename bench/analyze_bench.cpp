// SPDX-License-Identifier: Apache-2.0
// How fast `deadheat analyze` is, end to end: generates traces of several shapes
// and thread counts, runs the command on each as a process of its own, and
// prints a table of events per second of CPU time, bytes per event on disk and
// peak memory. The time of a case is the least of several runs, the cases
// interleaved, so that a busy machine disturbs all alike.
//
//   deadheat_bench_analyze [--events N] [--runs R] [--large N] [--directory DIR]
//
// --large N adds one access-heavy trace of N events with 8 threads.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "trace/event_sink.h"
#include "trace/trace_generator.h"

namespace {

using deadheat::Event;
using deadheat::GeneratorOptions;

struct Case {
  std::string shape;
  GeneratorOptions options;
  std::string path;
  std::uint64_t events = 0;
  std::uint64_t bytes = 0;
  double seconds = std::numeric_limits<double>::max();  // CPU, least of the runs
  long peak_kilobytes = 0;
};

[[noreturn]] void fail(const std::string& message) {
  fmt::print(stderr, "deadheat_bench_analyze: {}\n", message);
  std::exit(1);
}

void write_trace(Case& what) {
  auto sink = deadheat::create_trace(what.path, deadheat::TraceFormat::kBinary);
  if (!sink) fail(sink.error().message);
  deadheat::TraceGenerator generator(what.options);
  std::vector<Event> batch(1U << 14);
  while (const std::size_t count = generator.fill(batch)) {
    if (auto status = sink.value()->update(generator.dictionary()); !status) fail(status.error().message);
    if (auto status = sink.value()->write(std::span(batch).first(count)); !status) fail(status.error().message);
    what.events += count;
  }
  if (auto status = sink.value()->close(); !status) fail(status.error().message);
  struct stat info{};
  if (stat(what.path.c_str(), &info) != 0) fail("cannot stat " + what.path);
  what.bytes = static_cast<std::uint64_t>(info.st_size);
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

void run_once(Case& what) {
  const pid_t child = fork();
  if (child < 0) fail("cannot fork");
  if (child == 0) {
    // The command says on standard error what it found; that is not wanted here.
    const int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nothing >= 0) dup2(nothing, STDERR_FILENO);
    execl(DEADHEAT_CLI, "deadheat", "analyze", "--format", "json", "--output", "/dev/null", what.path.c_str(),
          static_cast<char*>(nullptr));
    _exit(127);
  }
  int status = 0;
  rusage usage{};
  if (wait4(child, &status, 0, &usage) != child) fail("cannot wait for deadheat");
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) fail("deadheat analyze failed on " + what.path);
  what.seconds = std::min(what.seconds, seconds(usage.ru_utime) + seconds(usage.ru_stime));
  what.peak_kilobytes = std::max(what.peak_kilobytes, usage.ru_maxrss);
}

void print_table(const std::vector<Case>& cases) {
  fmt::print("| trace | threads | events | M events/s | bytes/event | peak MB |\n");
  fmt::print("| --- | ---: | ---: | ---: | ---: | ---: |\n");
  for (const Case& what : cases) {
    const auto events = static_cast<double>(what.events);
    fmt::print("| {} | {} | {} | {:.1f} | {:.2f} | {:.0f} |\n", what.shape, what.options.threads, what.events,
               events / what.seconds / 1e6, static_cast<double>(what.bytes) / events,
               static_cast<double>(what.peak_kilobytes) / 1024);
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t events = 4'000'000;
  std::uint64_t large = 0;
  int runs = 5;
  std::string directory = "/tmp";
  for (int at = 1; at + 1 < argc; at += 2) {
    if (std::strcmp(argv[at], "--events") == 0) events = std::strtoull(argv[at + 1], nullptr, 10);
    if (std::strcmp(argv[at], "--large") == 0) large = std::strtoull(argv[at + 1], nullptr, 10);
    if (std::strcmp(argv[at], "--runs") == 0) runs = std::atoi(argv[at + 1]);
    if (std::strcmp(argv[at], "--directory") == 0) directory = argv[at + 1];
  }
  std::vector<Case> cases;
  for (const std::uint32_t threads : {1U, 8U, 64U, 512U}) {
    cases.push_back({"access-heavy", deadheat::access_heavy(1, events, threads), {}});
    cases.push_back({"lock-heavy", deadheat::lock_heavy(1, events, threads), {}});
    cases.push_back({"read-shared", deadheat::read_shared(1, events, threads), {}});
  }
  std::stable_sort(cases.begin(), cases.end(),
                   [](const Case& one, const Case& other) { return one.shape < other.shape; });
  if (large != 0) cases.push_back({"access-heavy, large", deadheat::access_heavy(2, large, 8), {}});
  for (Case& what : cases) {
    what.path = fmt::format("{}/deadheat-bench-{}-{}.trace", directory, getpid(), &what - cases.data());
    write_trace(what);
  }
  for (int run = 0; run < runs; ++run) {
    for (Case& what : cases) run_once(what);
  }
  for (const Case& what : cases) unlink(what.path.c_str());
  print_table(cases);
  return 0;
}
