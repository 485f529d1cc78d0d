// SPDX-License-Identifier: Apache-2.0
// TracedProcess: another process, all of whose threads stand still while this object lives.
//
// System calls can be made in it. They run in one of its threads, from wherever that stands: only its registers change,
// which are put back, and an interrupted call of its own is restarted by the kernel as if nothing had been. Neither its
// stack nor libc is touched, so no lock that a thread holds matters.
//
// If our process ends meanwhile the kernel lets the threads go. Within the few milliseconds in which one makes
// calls for us that would leave it with our registers: the command line must not be killed just then.
#pragma once

#include <sys/types.h>
#include <sys/user.h>

#include <cstddef>
#include <cstdint>
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

  [[nodiscard]] const std::vector<StoppedThread>& threads() const { return threads_; }
  // False if not all of it is there. Writes ignore protections.
  [[nodiscard]] bool read(std::uint64_t address, std::span<std::byte> to) const;
  [[nodiscard]] bool write(std::uint64_t address, std::span<const std::byte> from) const;
  // As the system call: its result or -errno. `instruction` is where a syscall instruction is. kIo: the process ended;
  // kInvalid: a filter of system calls (seccomp) could end it, and the system does not let us suspend that (only root
  // may).
  [[nodiscard]] Result<long> call(std::uint64_t instruction, long number,
                                  std::initializer_list<std::uint64_t> arguments);
  // Of a thread, from when it goes on.
  void set_blocked_signals(pid_t thread, std::uint64_t mask);
  // Calls are made although a filter may refuse them.
  void permit_filtered_calls() { permits_filtered_calls_ = true; }

 private:
  explicit TracedProcess(pid_t process) : process_(process) {}
  Status seize_all();
  Status seize(pid_t thread);
  Status wait_for_stop(pid_t thread);
  Status choose_caller();
  Status begin_calls();
  void end_calls();

  pid_t process_;
  int memory_ = -1;
  std::vector<StoppedThread> threads_;
  std::size_t caller_ = 0;  // of threads_, whose calls they are
  bool is_calling_ = false;
  bool permits_filtered_calls_ = false;
};

// Why it cannot be traced, and what to do; empty if nothing speaks against it.
[[nodiscard]] std::string reason_against_tracing(pid_t process);

// The value of a line "NAME:\tVALUE" in /proc/PROCESS/status, or that of one of its threads; empty if there is none.
[[nodiscard]] std::string status_of(pid_t process, std::string_view name);
[[nodiscard]] std::string status_of_thread(pid_t process, pid_t thread, std::string_view name);

// Numbers of all threads.
[[nodiscard]] std::vector<pid_t> threads_of(pid_t process);

}  // namespace deadheat::watch
