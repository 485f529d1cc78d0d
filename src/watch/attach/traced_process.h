// SPDX-License-Identifier: Apache-2.0
// TracedProcess: another process, all of whose threads stand still while this object lives.
//
// System calls can be made in it. They run in one of its threads, from wherever that stands: only its registers change,
// which are put back, and an interrupted call of its own is restarted by the kernel as if nothing had been. Neither its
// stack nor libc is touched, so no lock that a thread holds matters.
//
// If our process ends meanwhile the kernel lets the threads go. Within the few milliseconds in which one makes
// calls for us that would leave it with our registers: whoever uses this must not be killed just then (keeper.h).
#pragma once

#include <sys/types.h>
#include <sys/user.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace deadheat::watch {

struct StoppedThread {
  pid_t number = 0;
  user_regs_struct registers = {};
  std::uint64_t blocked_signals = 0;
};

class TracedProcess {
 public:
  // Stops all threads. kIo: not permitted, no such process, or a thread that does not stop; the sentence says what to
  // do. The process is as before then.
  [[nodiscard]] static Result<std::unique_ptr<TracedProcess>> stop(pid_t process);
  // Lets them go on.
  ~TracedProcess();
  TracedProcess(const TracedProcess&) = delete;
  TracedProcess& operator=(const TracedProcess&) = delete;

  [[nodiscard]] pid_t process() const { return process_; }
  [[nodiscard]] const std::vector<StoppedThread>& threads() const { return threads_; }
  // False if not all of it is there. Writes ignore protections.
  [[nodiscard]] bool read(std::uint64_t address, std::span<std::byte> to) const;
  [[nodiscard]] bool write(std::uint64_t address, std::span<const std::byte> from) const;
  // As the system call: its result or -errno. `instruction` is where a syscall instruction is. kIo: the process ended;
  // kInvalid: a filter of system calls (seccomp) could end it, and the system does not let us suspend that (only root
  // may).
  [[nodiscard]] Result<long> call(std::uint64_t instruction, long number,
                                  std::initializer_list<std::uint64_t> arguments);
  // Whether calls can be made: as call().
  [[nodiscard]] Status begin_calls();
  // Of a thread, from when it goes on.
  void set_blocked_signals(pid_t thread, std::uint64_t mask);
  // Calls are made although a filter may refuse them.
  void permit_filtered_calls() { permits_filtered_calls_ = true; }
  // Lets that thread alone go on, at most so long, until it is out of what `is_inside` says of it after each call of
  // the system; then it stands still again. Threads that it has created meanwhile run: see stop_new_threads(). False
  // if it is inside as before, or has ended. Before the first call().
  [[nodiscard]] bool drive_out(pid_t thread, const std::function<bool(const StoppedThread&)>& is_inside,
                               std::chrono::microseconds patience);
  // Those that have come since. `has_new`: there were some.
  [[nodiscard]] Status stop_new_threads(bool& has_new);

 private:
  explicit TracedProcess(pid_t process) : process_(process) {}
  Status seize(pid_t thread);
  [[nodiscard]] bool look_at(StoppedThread& thread) const;
  [[nodiscard]] bool run_until_call(pid_t thread, std::chrono::steady_clock::time_point deadline, bool& has_ended);
  Status wait_for_stop(pid_t thread);
  Status choose_caller();
  void end_calls();

  pid_t process_;
  int memory_ = -1;
  std::vector<StoppedThread> threads_;
  std::size_t caller_ = 0;  // of threads_, whose calls they are
  bool is_calling_ = false;
  bool permits_filtered_calls_ = false;
};

// The words by which a process was started, cut to a line; empty if there is no such process.
[[nodiscard]] std::string command_of(pid_t process);

// A process of ours that traces others for a command line (keeper.h).
inline constexpr char kKeeperName[] = "attach-keeper";

// Whether a deadheat traces a thread of it just now.
[[nodiscard]] bool is_traced_by_us(pid_t process);

// Why it cannot be traced, and what to do; empty if nothing speaks against it. Waits for a deadheat that traces it.
[[nodiscard]] std::string reason_against_tracing(pid_t process);

// The value of a line "NAME:\tVALUE" in /proc/PROCESS/status, or that of one of its threads; empty if there is none.
[[nodiscard]] std::string status_of(pid_t process, std::string_view name);
[[nodiscard]] std::string status_of_thread(pid_t process, pid_t thread, std::string_view name);

// The number that the process itself knows a thread by, which a container may choose.
[[nodiscard]] std::uint32_t inner_number(pid_t process, pid_t thread);

// Numbers of all threads.
[[nodiscard]] std::vector<pid_t> threads_of(pid_t process);

}  // namespace deadheat::watch
