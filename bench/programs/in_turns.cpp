// SPDX-License-Identifier: Apache-2.0
// Compares what commands cost where single runs of the same command differ by ten percent.
//
//   in_turns MILLISECONDS[:HZ] [@PROCESS[+RECORDER]:]COMMAND...
//
// All commands (of the shell) are begun, each in a process group of its own, and then only one of them runs at any
// time, for that long, then the next one, until all have ended. Whatever else slows the machine down for more than some
// slices meets all of them alike. Others are stopped by SIGSTOP meanwhile, and so is the process that is named with a
// command: a server that it makes requests to, and who records that: what it has to fetch would otherwise be fetched in
// the next one's turn.
//
// Who records (also if that is the command itself) may have timers of processors, which interrupt whoever runs: those
// of the others' turns would make the others slower too. So its performance events are turned off when its turn ends
// and on when the next one begins. With HZ, the rate of its timers, they are begun anew in phase with the system's
// tick, as who records does it (src/record/tick_phase.h): to turn one off and on shifts it. That the events are in the
// order of processors is assumed; otherwise the phase is missed and they cost more.
//
// Prints a line for each command: seconds of processor time, of the command with its children or of the processes that
// were named; seconds in which it was its turn; how it ended (0 for success); seconds of processor time of the recorder
// that was named (part of the first figure).
#include <dirent.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

namespace {

struct Way {
  std::string command;
  pid_t server = 0;
  pid_t recorder = 0;
  pid_t process = 0;
  std::vector<int> events;  // of who records
  double server_before = 0;
  double recorder_before = 0;
  double processor = 0;
  double processor_of_recorder = 0;
  double turns = 0;
  int status = -1;
  bool has_ended = false;
};

double now() {
  timespec time = {};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double processor_time_of(pid_t process) {
  clockid_t clock = 0;
  timespec time = {};
  if (clock_getcpuclockid(process, &clock) != 0 || clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

Way parse_way(const std::string& text) {
  Way way;
  way.command = text;
  if (text.empty() || text[0] != '@') return way;
  const std::size_t colon = text.find(':');
  char* end = nullptr;
  way.server = static_cast<pid_t>(std::strtol(text.c_str() + 1, &end, 10));
  if (*end == '+') way.recorder = static_cast<pid_t>(std::strtol(end + 1, nullptr, 10));
  way.command = text.substr(colon + 1);
  return way;
}

// The performance events that a process has open, as descriptors of our own.
std::vector<int> performance_events_of(pid_t process) {
  std::vector<int> events;
  const std::string place = "/proc/" + std::to_string(process) + "/fd/";
  DIR* const directory = opendir(place.c_str());
  if (directory == nullptr) return events;
  const auto handle = static_cast<int>(syscall(SYS_pidfd_open, process, 0));
  while (const dirent* const entry = readdir(directory)) {
    char target[64] = {};
    if (readlink((place + entry->d_name).c_str(), target, sizeof target - 1) < 0) continue;
    if (std::string(target) != "anon_inode:[perf_event]") continue;
    const auto event = static_cast<int>(syscall(SYS_pidfd_getfd, handle, std::atoi(entry->d_name), 0));
    if (event >= 0) events.push_back(event);
    if (event < 0) std::fprintf(stderr, "in_turns: the timers of process %d cannot be turned off\n", process);
  }
  if (handle >= 0) close(handle);
  closedir(directory);
  return events;
}

void send(const Way& way, int signal) {
  if (way.process > 0) kill(-way.process, signal);
  if (way.recorder > 0) kill(way.recorder, signal);
  if (way.server > 0) kill(way.server, signal);
}

void run_on(const cpu_set_t& processors) { sched_setaffinity(0, sizeof processors, &processors); }

// Events that have no timer refuse to have a period. The figures are those of tick_phase.cpp.
void turn_on_in_phase(const Way& way, std::uint64_t period) {
  constexpr std::uint64_t kEarly = 8'000;
  constexpr std::uint64_t kMostDelay = 24'000;
  const auto processors = static_cast<std::size_t>(sysconf(_SC_NPROCESSORS_CONF));
  const auto nanoseconds = [] { return static_cast<std::uint64_t>(1e9 * now()); };
  cpu_set_t before;
  sched_getaffinity(0, sizeof before, &before);
  for (std::size_t at = 0; at < way.events.size(); ++at) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(at % processors, &one);
    run_on(one);
    for (int tries = 0; tries < 16; ++tries) {
      ioctl(way.events[at], PERF_EVENT_IOC_DISABLE, 0);
      const bool has_timer = ioctl(way.events[at], PERF_EVENT_IOC_PERIOD, &period) == 0;
      const std::uint64_t begin = (nanoseconds() + kEarly) / period * period + period - kEarly;
      while (has_timer && nanoseconds() < begin) {
      }
      ioctl(way.events[at], PERF_EVENT_IOC_ENABLE, 0);
      if (!has_timer || nanoseconds() < begin + kMostDelay) break;
    }
  }
  run_on(before);
}

std::uint64_t timer_period = 0;  // nanoseconds; 0: not known

void turn_on_events(const Way& way) {
  if (timer_period != 0) return turn_on_in_phase(way, timer_period);
  for (const int event : way.events) ioctl(event, PERF_EVENT_IOC_ENABLE, 0);
}

void turn_off_events(Way& way) {
  if (way.events.empty()) way.events = performance_events_of(way.recorder > 0 ? way.recorder : way.process);
  for (const int event : way.events) ioctl(event, PERF_EVENT_IOC_DISABLE, 0);
}

// Kept open they would go on without who opened them.
void forget_events(Way& way) {
  for (const int event : way.events) close(event);
  way.events.clear();
}

// Stopped before its first instruction.
bool begin(Way& way, const sigset_t& mask_of_caller) {
  way.process = fork();
  if (way.process < 0) return false;
  if (way.process == 0) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigprocmask(SIG_SETMASK, &mask_of_caller, nullptr);
    raise(SIGSTOP);
    execl("/bin/sh", "sh", "-c", way.command.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  int status = 0;
  waitpid(way.process, &status, WUNTRACED);
  if (way.server > 0) {
    send(way, SIGSTOP);
    turn_off_events(way);
    way.server_before = processor_time_of(way.server);
    if (way.recorder > 0) way.recorder_before = processor_time_of(way.recorder);
  }
  return true;
}

// Until the end of the slice or of the command.
void let_run(Way& way, double slice, const sigset_t& child_signal) {
  turn_on_events(way);
  const double begin = now();
  send(way, SIGCONT);
  for (double left = slice; left > 0; left = slice - (now() - begin)) {
    const auto whole = static_cast<time_t>(left);
    const timespec time{whole, static_cast<long>(1e9 * (left - static_cast<double>(whole)))};
    sigtimedwait(&child_signal, nullptr, &time);
    rusage usage = {};
    if (wait4(way.process, &way.status, WNOHANG, &usage) != way.process) continue;
    way.has_ended = true;
    if (way.recorder > 0) way.processor_of_recorder = processor_time_of(way.recorder) - way.recorder_before;
    way.processor = way.server > 0 ? processor_time_of(way.server) - way.server_before + way.processor_of_recorder
                                   : seconds(usage.ru_utime) + seconds(usage.ru_stime);
    break;
  }
  if (way.has_ended) way.process = 0;
  send(way, SIGSTOP);  // a server is idle if the command has ended, but it may have work of its own
  way.turns += now() - begin;
  if (way.has_ended && way.server == 0) {
    forget_events(way);
  } else {
    turn_off_events(way);
  }
}

}  // namespace

int main(int count, char** words) {
  if (count < 3) {
    std::fprintf(stderr, "usage: in_turns MILLISECONDS[:HZ] [@PROCESS[+RECORDER]:]COMMAND...\n");
    return 2;
  }
  char* end = nullptr;
  const double slice = 1e-3 * std::strtod(words[1], &end);
  if (*end == ':') timer_period = static_cast<std::uint64_t>(1e9 / std::strtod(end + 1, nullptr));
  struct sigaction action = {};
  action.sa_handler = [](int) {};
  action.sa_flags = SA_NOCLDSTOP;
  sigaction(SIGCHLD, &action, nullptr);
  sigset_t child_signal;
  sigset_t mask_before;
  sigemptyset(&child_signal);
  sigaddset(&child_signal, SIGCHLD);
  sigprocmask(SIG_BLOCK, &child_signal, &mask_before);

  std::vector<Way> ways;
  for (int at = 2; at < count; ++at) ways.push_back(parse_way(words[at]));
  for (Way& way : ways) {
    if (!begin(way, mask_before)) return 1;
  }
  for (bool is_any_left = true; is_any_left;) {
    is_any_left = false;
    for (Way& way : ways) {
      if (way.has_ended) continue;
      let_run(way, slice, child_signal);
      is_any_left = is_any_left || !way.has_ended;
    }
  }
  for (Way& way : ways) {
    turn_on_events(way);
    send(way, SIGCONT);
    forget_events(way);
    std::printf("%.4f %.4f %d %.4f\n", way.processor, way.turns, way.status, way.processor_of_recorder);
  }
  return 0;
}
