// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor_checks.h"

#include <fmt/format.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>

#include "cli/messages.h"
#include "cli/openmp_tool.h"
#include "record/sampler.h"

namespace deadheat {

namespace {

// The first word of a file of /proc or /sys.
std::optional<std::string> read_setting(const char* path) {
  std::ifstream file(path);
  std::string word;
  if (!(file >> word)) return std::nullopt;
  return word;
}

std::optional<long> read_number(const char* path) {
  std::ifstream file(path);
  long number = 0;
  if (!(file >> number)) return std::nullopt;
  return number;
}

CheckResult check_kernel() {
  CheckResult result{"kernel", CheckScope::kFullDetection, CheckVerdict::kOk, {}, {}, {}};
  utsname system{};
  if (uname(&system) != 0) return result;
  result.found = fmt::format("{} {} {}", system.sysname, system.release, system.machine);
  if (std::string_view(system.machine) != "x86_64") {
    result.verdict = CheckVerdict::kMissing;
    result.meaning = "only x86-64 programs can be checked";
  }
  return result;
}

CheckResult check_randomisation() {
  CheckResult result{"address randomisation", CheckScope::kFullDetection, CheckVerdict::kOk, "unknown", {}, {}};
  const auto bits = read_number("/proc/sys/vm/mmap_rnd_bits");
  if (!bits) return result;
  result.found = fmt::format("{} bits", *bits);
  if (*bits > 32) {
    result.verdict = CheckVerdict::kWarning;
    result.meaning = "the shadow memory has room for at most 32 bits";
    result.fix = "sudo sysctl vm.mmap_rnd_bits=32";
  }
  return result;
}

// About what the runtime reserves, in address space only: never touched. Where it
// goes is chosen by the runtime; whether there is a place for it
// shows in the trial of the compilers.
constexpr std::size_t kTerabyte = std::size_t{1} << 40;
constexpr std::size_t kShadowSize = 16 * kTerabyte;

// 0 or the error.
int try_to_reserve(std::size_t size) {
  void* mapped = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return errno;
  munmap(mapped, size);
  return 0;
}

std::string why_reserving_fails() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    return "ulimit -v unlimited (now the address space is limited)";
  }
  if (read_number("/proc/sys/vm/overcommit_memory") == 2) {
    return "sudo sysctl vm.overcommit_memory=0 (now the kernel refuses reservations larger than memory)";
  }
  if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur == RLIM_INFINITY) {
    return "ulimit -s 8192 (now the stack is unlimited, and libraries are mapped in unusual places)";
  }
  return {};
}

CheckResult check_shadow() {
  CheckResult result{"shadow memory", CheckScope::kFullDetection, CheckVerdict::kOk, "can be reserved", {}, {}};
  const int error = try_to_reserve(kShadowSize);
  if (error == 0) return result;
  result.verdict = CheckVerdict::kMissing;
  result.found =
      fmt::format("cannot reserve {} TiB of address space: {}", kShadowSize / kTerabyte, system_message(error));
  result.meaning = "no race can be detected without it";
  result.fix = why_reserving_fails();
  return result;
}

CheckResult check_stack_limit() {
  CheckResult result{"stack limit", CheckScope::kFullDetection, CheckVerdict::kOk, "limited", {}, {}};
  rlimit limit{};
  if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY) return result;
  result.verdict = CheckVerdict::kWarning;
  result.found = "unlimited";
  result.meaning = "the kernel then maps libraries in unusual places, and the shadow memory may not fit around them";
  result.fix = "ulimit -s 8192";
  return result;
}

int open_event(perf_event_attr& attributes) {
  attributes.size = sizeof attributes;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  return static_cast<int>(syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

// The event's count after something was done that it counts, or the error.
struct EventTrial {
  std::uint64_t count = 0;
  int error = 0;
};

volatile int watched_word = 0;

// While it lives, a SIGTRAP does nothing. A breakpoint that only counts sends none, but on a virtual
// machine a trap may come that the kernel knows no breakpoint for any more, and that one is a signal.
class HarmlessTraps {
 public:
  HarmlessTraps() {
    struct sigaction harmless{};
    harmless.sa_handler = [](int) {};
    sigaction(SIGTRAP, &harmless, &before_);
  }
  ~HarmlessTraps() { sigaction(SIGTRAP, &before_, nullptr); }
  HarmlessTraps(const HarmlessTraps&) = delete;
  HarmlessTraps& operator=(const HarmlessTraps&) = delete;

 private:
  struct sigaction before_{};
};

EventTrial try_event(perf_event_attr attributes) {
  const HarmlessTraps harmless;
  const int descriptor = open_event(attributes);
  if (descriptor < 0) return {0, errno};
  for (int round = 0; round < 1000; ++round) watched_word = round;
  EventTrial trial;
  if (read(descriptor, &trial.count, sizeof trial.count) != sizeof trial.count) trial.error = errno;
  close(descriptor);
  return trial;
}

std::string describe_failure(const EventTrial& trial) {
  return trial.error == 0 ? "opens but does not count" : system_message(trial.error);
}

CheckResult check_breakpoints() {
  CheckResult result{
      "hardware breakpoints", CheckScope::kWatch, CheckVerdict::kOk, "perf events can watch data", {}, {}};
  perf_event_attr attributes{};
  attributes.type = PERF_TYPE_BREAKPOINT;
  attributes.bp_type = HW_BREAKPOINT_W;
  attributes.bp_addr = reinterpret_cast<std::uintptr_t>(&watched_word);
  attributes.bp_len = HW_BREAKPOINT_LEN_4;
  const EventTrial trial = try_event(attributes);
  if (trial.error == 0 && trial.count > 0) return result;
  result.verdict = CheckVerdict::kMissing;
  result.found = describe_failure(trial);
  result.meaning = "programs cannot be watched without recompiling them; full detection does not need this";
  result.fix = "sudo sysctl kernel.perf_event_paranoid=2; in a container allow perf_event_open";
  return result;
}

CheckResult check_cycles() {
  CheckResult result{
      "performance counters", CheckScope::kRecord, CheckVerdict::kOk, "hardware cycles are counted", {}, {}};
  perf_event_attr attributes{};
  attributes.type = PERF_TYPE_HARDWARE;
  attributes.config = PERF_COUNT_HW_CPU_CYCLES;
  const EventTrial trial = try_event(attributes);
  if (trial.error == 0 && trial.count > 0) return result;
  result.verdict = CheckVerdict::kWarning;
  result.found = describe_failure(trial);
  result.meaning = "recording falls back to the software clock; full detection does not need this";
  result.fix = "use a machine, or a virtual machine, that exposes its counters";
  return result;
}

CheckResult check_processor_trace() {
  CheckResult result{"Intel PT", CheckScope::kRecord, CheckVerdict::kOk, "available", {}, {}};
  std::error_code error;
  if (std::filesystem::exists("/sys/bus/event_source/devices/intel_pt", error)) return result;
  result.verdict = CheckVerdict::kWarning;
  result.found = "not available";
  result.meaning = "recording knows the control flow only near its samples; full detection does not need this";
  result.fix = "use an Intel processor without a hypervisor in between";
  return result;
}

CheckResult check_recording() {
  CheckResult result{"recording", CheckScope::kRecord, CheckVerdict::kOk, {}, {}, {}};
  const auto clock = record::missing_for(record::Backend::kClock);
  const auto intel = record::missing_for(record::Backend::kIntel);
  result.found = intel ? "" : "intel, ";
  if (!clock) result.found += "clock, ";
  result.found += "step work";
  if (intel) result.found += "; intel: " + *intel;
  if (!clock) return result;
  result.verdict = CheckVerdict::kWarning;
  result.meaning = "recording has no samples: " + *clock;
  result.fix = "sudo sysctl kernel.perf_event_paranoid=2";
  return result;
}

CheckResult check_paranoia() {
  CheckResult result{"perf_event_paranoid", CheckScope::kWatch, CheckVerdict::kOk, "unknown", {}, {}};
  const auto level = read_number("/proc/sys/kernel/perf_event_paranoid");
  if (!level) return result;
  result.found = std::to_string(*level);
  if (*level > 2 && geteuid() != 0) {
    result.verdict = CheckVerdict::kWarning;
    result.meaning = "only root may use performance events";
    result.fix = "sudo sysctl kernel.perf_event_paranoid=2";
  }
  return result;
}

CheckResult check_ptrace() {
  CheckResult result{"ptrace scope", CheckScope::kInformation, CheckVerdict::kOk, "not restricted", {}, {}};
  const auto scope = read_number("/proc/sys/kernel/yama/ptrace_scope");
  if (!scope || *scope == 0) return result;
  result.found = std::to_string(*scope);
  if (*scope >= 2) {
    result.verdict = CheckVerdict::kWarning;
    result.meaning = "a debugger cannot be attached to a program that was stopped at a race";
    result.fix = "sudo sysctl kernel.yama.ptrace_scope=1";
  } else if (geteuid() != 0) {
    result.verdict = CheckVerdict::kWarning;
    result.meaning = "'deadheat watch --pid' needs root; programs that it starts itself can be watched";
    result.fix = "sudo sysctl kernel.yama.ptrace_scope=0";
  }
  return result;
}

CheckResult check_openmp() {
  CheckResult result{"OpenMP of clang", CheckScope::kFullDetection, CheckVerdict::kOk, {}, {}, {}};
  if (const auto tool = find_openmp_tool()) {
    result.found = "'deadheat run' loads " + *tool;
    return result;
  }
  result.verdict = CheckVerdict::kWarning;
  result.found = "libarcher.so not found";
  result.meaning = "programs of clang with -fopenmp get reports of races that are none; those of g++ do not need it";
  result.fix = "install libarcher.so; Debian has it in libomp-19-dev";
  return result;
}

bool has_system_call_filter() {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    if (word == "Seccomp:" && status >> word) return word == "2";
  }
  return false;
}

// Information only: what the confinement forbids shows in the other checks.
CheckResult check_confinement() {
  CheckResult result{"confinement", CheckScope::kInformation, CheckVerdict::kOk, "none", {}, {}};
  std::error_code error;
  const bool container = std::filesystem::exists("/.dockerenv", error) ||
                         std::filesystem::exists("/run/.containerenv", error) || std::getenv("container") != nullptr;
  if (container) result.found = "container";
  if (has_system_call_filter()) {
    result.found = container ? "container with a system call filter" : "system call filter";
    result.verdict = CheckVerdict::kWarning;
    result.meaning = "some system calls may be forbidden, perf_event_open first of all";
    result.fix = "if another check fails, try a profile that allows it, for example --security-opt seccomp=unconfined";
  }
  return result;
}

CheckResult check_overcommit() {
  CheckResult result{"memory overcommit", CheckScope::kFullDetection, CheckVerdict::kOk, "unknown", {}, {}};
  const auto mode = read_setting("/proc/sys/vm/overcommit_memory");
  if (!mode) return result;
  result.found = "mode " + *mode;
  if (*mode == "2") {
    result.verdict = CheckVerdict::kWarning;
    result.meaning = "the kernel counts reserved memory as used";
    result.fix = "sudo sysctl vm.overcommit_memory=0";
  }
  return result;
}

}  // namespace

std::string_view name_of(CheckVerdict verdict) {
  switch (verdict) {
    case CheckVerdict::kOk:
      return "ok";
    case CheckVerdict::kWarning:
      return "warning";
    case CheckVerdict::kMissing:
      return "missing";
  }
  return "";
}

std::string_view name_of(CheckScope scope) {
  switch (scope) {
    case CheckScope::kFullDetection:
      return "run";
    case CheckScope::kWatch:
      return "watch";
    case CheckScope::kRecord:
      return "record";
    case CheckScope::kInformation:
      return "information";
  }
  return "";
}

std::vector<CheckResult> check_machine() {
  return {check_kernel(),      check_randomisation(), check_shadow(),     check_stack_limit(),     check_overcommit(),
          check_breakpoints(), check_paranoia(),      check_cycles(),     check_processor_trace(), check_recording(),
          check_openmp(),      check_ptrace(),        check_confinement()};
}

}  // namespace deadheat
