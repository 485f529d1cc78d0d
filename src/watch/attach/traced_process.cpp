// SPDX-License-Identifier: Apache-2.0
#include "watch/attach/traced_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>

#include "watch/attach/process_view.h"

namespace deadheat::watch {
namespace {

constexpr auto kPatience = std::chrono::seconds(2);
constexpr int kStopEvent = 128;  // PTRACE_EVENT_STOP
constexpr int kSystemCallStop = SIGTRAP | 0x80;

Error process_ended(pid_t process) { return {ErrorCode::kIo, fmt::format("process {} has ended", process)}; }

std::string status_line(const std::string& path, std::string_view name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(name) || line.size() <= name.size() || line[name.size()] != ':') continue;
    const std::size_t begin = line.find_first_not_of(" \t", name.size() + 1);
    return begin == std::string::npos ? std::string() : line.substr(begin);
  }
  return {};
}

// By the clock, as a thread in an uninterruptible call would keep us for ever.
bool wait_for_change(pid_t thread, int& status, std::chrono::steady_clock::time_point deadline) {
  for (int tries = 0;; ++tries) {
    const pid_t seen = waitpid(thread, &status, __WALL | WNOHANG);
    if (seen == thread) return true;
    if (seen < 0 && errno != EINTR) return false;
    if (std::chrono::steady_clock::now() > deadline) return false;
    if (tries > 20) std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

bool wait_for_change(pid_t thread, int& status) {
  return wait_for_change(thread, status, std::chrono::steady_clock::now() + kPatience);
}

bool is_event_stop(int status) { return WIFSTOPPED(status) && status >> 16 == kStopEvent; }

void resume(pid_t thread, __ptrace_request how, int signal) {
  ptrace(how, thread, nullptr, reinterpret_cast<void*>(static_cast<std::uintptr_t>(signal)));
}

int other_user_of(pid_t process) {
  struct stat status = {};
  if (stat(fmt::format("/proc/{}", process).c_str(), &status) != 0) return -1;
  return geteuid() != 0 && status.st_uid != geteuid() ? static_cast<int>(status.st_uid) : -1;
}

}  // namespace

std::string status_of(pid_t process, std::string_view name) {
  return status_line(fmt::format("/proc/{}/status", process), name);
}

std::string status_of_thread(pid_t process, pid_t thread, std::string_view name) {
  return status_line(fmt::format("/proc/{}/task/{}/status", process, thread), name);
}

std::uint32_t inner_number(pid_t process, pid_t thread) {
  std::istringstream numbers(status_of_thread(process, thread, "NSpid"));
  std::uint32_t last = static_cast<std::uint32_t>(thread);
  for (std::uint32_t number = 0; numbers >> number;) last = number;
  return last;
}

std::vector<pid_t> threads_of(pid_t process) {
  std::vector<pid_t> numbers;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", process), error)) {
    numbers.push_back(static_cast<pid_t>(std::strtol(entry.path().filename().c_str(), nullptr, 10)));
  }
  return numbers;
}

std::string command_of(pid_t process) {
  constexpr std::size_t kMost = 120;
  std::ifstream file(fmt::format("/proc/{}/cmdline", process), std::ios::binary);
  std::string words{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  for (char& letter : words) {
    if (static_cast<unsigned char>(letter) < ' ') letter = ' ';
  }
  while (words.ends_with(' ')) words.pop_back();
  if (words.size() > kMost) words = words.substr(0, kMost) + "...";
  return words;
}

bool is_traced_by_us(pid_t process) {
  const std::vector<pid_t> threads = threads_of(process);
  return std::any_of(threads.begin(), threads.end(), [&](pid_t thread) {
    const std::string tracer = status_of_thread(process, thread, "TracerPid");
    const std::string name = tracer.empty() || tracer == "0" ? "" : status_line("/proc/" + tracer + "/status", "Name");
    return name == kKeeperName || name == "deadheat";
  });
}

std::string reason_against_tracing(pid_t process) {
  constexpr auto kPatienceWithUs = std::chrono::seconds(8);  // that one tries again and again while it leaves
  const auto deadline = std::chrono::steady_clock::now() + kPatienceWithUs;
  while (is_traced_by_us(process) && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  const std::string tracer = status_of(process, "TracerPid");
  if (tracer.empty()) return fmt::format("there is no process {}", process);
  if (tracer != "0") {
    return fmt::format("process {} is traced by process {} ('{}'): end that first", process, tracer,
                       command_of(static_cast<pid_t>(std::strtol(tracer.c_str(), nullptr, 10))));
  }
  if (process == getpid()) return "a process cannot watch itself";
  const std::string state = status_of_thread(process, living_thread_of(process), "State");
  if (state.starts_with('Z')) return fmt::format("process {} has ended", process);
  if (state.starts_with('T'))
    return fmt::format("process {} is stopped: continue it first (kill -CONT {})", process, process);
  if (const int user = other_user_of(process); user >= 0) {
    return fmt::format("process {} belongs to user {}: run deadheat as that user (sudo -u '#{}' ...) or as root",
                       process, user, user);
  }
  return {};
}

namespace {

Error not_permitted(pid_t process, int error) {
  if (error == ESRCH) return process_ended(process);
  std::string advice = "run deadheat as the user who started it, or as root; in a container it needs CAP_SYS_PTRACE";
  std::ifstream file("/proc/sys/kernel/yama/ptrace_scope");
  int scope = 0;
  if (file >> scope && scope == 1 && geteuid() != 0) {
    advice =
        "the system lets processes be traced by their parents only (kernel.yama.ptrace_scope is 1): run deadheat as "
        "root, start the program with 'deadheat watch PROGRAM', or allow it with 'sysctl kernel.yama.ptrace_scope=0'";
  } else if (scope == 2 && geteuid() != 0) {
    advice = "only root may trace (kernel.yama.ptrace_scope is 2): run deadheat as root";
  } else if (scope >= 3) {
    advice =
        "nobody may trace until the system is restarted (kernel.yama.ptrace_scope is 3): start the program with "
        "'deadheat watch PROGRAM'";
  }
  return {ErrorCode::kIo, fmt::format("process {} may not be traced: {}", process, advice)};
}

}  // namespace

Result<std::unique_ptr<TracedProcess>> TracedProcess::stop(pid_t process) {
  if (std::string reason = reason_against_tracing(process); !reason.empty()) return Error{ErrorCode::kIo, reason};
  std::unique_ptr<TracedProcess> traced(new TracedProcess(process));
  bool has_new = false;
  if (const Status status = traced->stop_new_threads(has_new); !status.ok()) return status.error();
  traced->memory_ = open(fmt::format("/proc/{}/mem", living_thread_of(process)).c_str(), O_RDWR | O_CLOEXEC);
  if (traced->memory_ < 0) return not_permitted(process, errno);
  return traced;
}

TracedProcess::~TracedProcess() {
  end_calls();
  for (const StoppedThread& thread : threads_) resume(thread.number, PTRACE_DETACH, 0);
  if (memory_ >= 0) close(memory_);
}

namespace {

// Threads of the kernel's in a process (io_uring): their registers are left-overs of whoever made them.
bool never_runs_its_code(pid_t process, pid_t thread) {
  constexpr std::uint64_t kWorker = 0x10 | 0x4000;  // PF_IO_WORKER, PF_USER_WORKER
  std::ifstream file(fmt::format("/proc/{}/task/{}/stat", process, thread));
  const std::string line{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return false;
  std::istringstream fields(line.substr(name_end + 1));
  std::string field;
  constexpr int kFlags = 9;  // the state, after the name, is the third
  for (int number = 3; number <= kFlags; ++number) fields >> field;
  return (std::strtoull(field.c_str(), nullptr, 10) & kWorker) != 0;
}

}  // namespace

// Threads may be created while others are being stopped.
Status TracedProcess::stop_new_threads(bool& has_new) {
  has_new = false;
  for (bool is_growing = true; is_growing;) {
    is_growing = false;
    for (const pid_t number : threads_of(process_)) {
      const bool is_known = std::any_of(threads_.begin(), threads_.end(),
                                        [&](const StoppedThread& thread) { return thread.number == number; });
      if (is_known || never_runs_its_code(process_, number)) continue;
      const std::size_t before = threads_.size();
      if (const Status status = seize(number); !status.ok()) return status.error();
      is_growing = is_growing || threads_.size() != before;
    }
    has_new = has_new || is_growing;
  }
  if (threads_.empty()) return process_ended(process_);
  return {};
}

Status TracedProcess::seize(pid_t thread) {
  if (ptrace(PTRACE_SEIZE, thread, nullptr, reinterpret_cast<void*>(PTRACE_O_TRACESYSGOOD)) != 0) {
    const bool has_ended = errno == ESRCH || status_of_thread(process_, thread, "State").starts_with('Z');
    if (has_ended) return {};
    return not_permitted(process_, errno);
  }
  ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr);
  StoppedThread stopped;
  stopped.number = thread;
  if (const Status status = wait_for_stop(thread); !status.ok()) return status.error();
  if (look_at(stopped)) threads_.push_back(stopped);  // otherwise it has ended
  return {};
}

bool TracedProcess::look_at(StoppedThread& thread) const {
  if (ptrace(PTRACE_GETREGS, thread.number, nullptr, &thread.registers) != 0) return false;
  ptrace(PTRACE_GETSIGMASK, thread.number, reinterpret_cast<void*>(sizeof thread.blocked_signals),
         &thread.blocked_signals);
  return true;
}

// To the beginning or the end of one. False: it takes too long, or the thread has ended.
bool TracedProcess::run_until_call(pid_t thread, std::chrono::steady_clock::time_point deadline, bool& has_ended) {
  int signal = 0;
  for (;;) {
    resume(thread, PTRACE_SYSCALL, signal);
    int status = 0;
    if (!wait_for_change(thread, status, deadline)) return false;
    has_ended = !WIFSTOPPED(status);
    if (has_ended) return false;
    if (WSTOPSIG(status) == kSystemCallStop) return true;
    signal = is_event_stop(status) ? 0 : WSTOPSIG(status);
  }
}

bool TracedProcess::drive_out(pid_t number, const std::function<bool(const StoppedThread&)>& is_inside,
                              std::chrono::microseconds patience) {
  const auto found = std::find_if(threads_.begin(), threads_.end(),
                                  [&](const StoppedThread& thread) { return thread.number == number; });
  if (found == threads_.end()) return false;
  const auto deadline = std::chrono::steady_clock::now() + patience;
  bool has_ended = false;
  bool stands = false;
  while (!stands && run_until_call(number, deadline, has_ended)) {
    StoppedThread seen = *found;
    stands = !look_at(seen) || !is_inside(seen);
  }
  // From wherever that is into the stop that the others are in.
  if (!has_ended) {
    ptrace(PTRACE_INTERRUPT, number, nullptr, nullptr);
    if (stands) resume(number, PTRACE_CONT, 0);
    has_ended = !wait_for_stop(number).ok();
  }
  if (has_ended || !look_at(*found)) {
    threads_.erase(found);
    return false;
  }
  return !is_inside(*found);
}

Status TracedProcess::wait_for_stop(pid_t thread) {
  for (;;) {
    int status = 0;
    if (!wait_for_change(thread, status)) {
      return Error{ErrorCode::kIo,
                   fmt::format("thread {} of process {} does not stop (it waits for a disk, or for a child "
                               "that it started by vfork): try again later",
                               thread, process_)};
    }
    if (!WIFSTOPPED(status) || is_event_stop(status)) return {};
    // A signal was on its way: it is delivered, and the thread stops after that.
    resume(thread, PTRACE_CONT, WSTOPSIG(status) == kSystemCallStop ? 0 : WSTOPSIG(status));
  }
}

bool TracedProcess::read(std::uint64_t address, std::span<std::byte> to) const {
  return pread(memory_, to.data(), to.size(), static_cast<off_t>(address)) == static_cast<ssize_t>(to.size());
}

bool TracedProcess::write(std::uint64_t address, std::span<const std::byte> from) const {
  while (!from.empty()) {
    const ssize_t written = pwrite(memory_, from.data(), from.size(), static_cast<off_t>(address));
    if (written <= 0) return false;
    address += static_cast<std::uint64_t>(written);
    from = from.subspan(static_cast<std::size_t>(written));
  }
  return true;
}

// A thread without a filter, if there is one.
Status TracedProcess::choose_caller() {
  for (caller_ = 0; caller_ < threads_.size(); ++caller_) {
    const std::string filtered = status_of_thread(process_, threads_[caller_].number, "Seccomp");
    if (filtered.empty() || filtered == "0") return {};
  }
  caller_ = 0;
  const auto options = static_cast<std::uintptr_t>(PTRACE_O_TRACESYSGOOD | PTRACE_O_SUSPEND_SECCOMP);
  const bool is_suspended =
      ptrace(PTRACE_SETOPTIONS, threads_[0].number, nullptr, reinterpret_cast<void*>(options)) == 0;
  if (is_suspended || permits_filtered_calls_) return {};
  return Error{ErrorCode::kInvalid, fmt::format("process {} confines its system calls (seccomp)", process_)};
}

Status TracedProcess::begin_calls() {
  if (is_calling_) return {};
  if (Status status = choose_caller(); !status.ok()) return status;
  // No signal of the program's is delivered in between.
  std::uint64_t all = ~std::uint64_t{0};
  if (ptrace(PTRACE_SETSIGMASK, threads_[caller_].number, reinterpret_cast<void*>(sizeof all), &all) != 0) {
    return process_ended(process_);
  }
  is_calling_ = true;
  return {};
}

Result<long> TracedProcess::call(std::uint64_t instruction, long number,
                                 std::initializer_list<std::uint64_t> arguments) {
  if (const Status status = begin_calls(); !status.ok()) return status.error();
  const pid_t thread = threads_[caller_].number;
  user_regs_struct registers = threads_[caller_].registers;
  unsigned long long* const places[] = {&registers.rdi, &registers.rsi, &registers.rdx,
                                        &registers.r10, &registers.r8,  &registers.r9};
  std::size_t place = 0;
  for (const std::uint64_t argument : arguments) *places[place++] = argument;
  registers.rip = instruction;
  registers.rax = static_cast<unsigned long long>(number);
  registers.orig_rax = ~0ULL;  // nothing is to be restarted yet
  if (ptrace(PTRACE_SETREGS, thread, nullptr, &registers) != 0) return process_ended(process_);
  for (int stops = 0; stops < 2;) {
    int status = 0;
    resume(thread, PTRACE_SYSCALL, 0);
    if (!wait_for_change(thread, status) || !WIFSTOPPED(status)) return process_ended(process_);
    if (WSTOPSIG(status) == kSystemCallStop) ++stops;
  }
  if (ptrace(PTRACE_GETREGS, thread, nullptr, &registers) != 0) return process_ended(process_);
  return static_cast<long>(registers.rax);
}

// The kernel restarts an interrupted call only from the stop of a signal, so the thread goes into one.
void TracedProcess::end_calls() {
  if (!is_calling_) return;
  is_calling_ = false;
  StoppedThread& thread = threads_[caller_];
  ptrace(PTRACE_INTERRUPT, thread.number, nullptr, nullptr);
  resume(thread.number, PTRACE_CONT, 0);
  static_cast<void>(wait_for_stop(thread.number));
  ptrace(PTRACE_SETREGS, thread.number, nullptr, &thread.registers);
  ptrace(PTRACE_SETSIGMASK, thread.number, reinterpret_cast<void*>(sizeof thread.blocked_signals),
         &thread.blocked_signals);
  ptrace(PTRACE_SETOPTIONS, thread.number, nullptr, reinterpret_cast<void*>(PTRACE_O_TRACESYSGOOD));
}

void TracedProcess::set_blocked_signals(pid_t number, std::uint64_t mask) {
  for (StoppedThread& thread : threads_) {
    if (thread.number != number) continue;
    thread.blocked_signals = mask;
    if (is_calling_ && &thread == &threads_[caller_]) return;  // end_calls() does
    ptrace(PTRACE_SETSIGMASK, number, reinterpret_cast<void*>(sizeof mask), &mask);
  }
}

}  // namespace deadheat::watch
