// SPDX-License-Identifier: Apache-2.0
// Masks of signals of a process that stands still. While an agent is in it, SIGTRAP must be blocked nowhere in the
// kernel: a breakpoint in a thread that blocks it ends the process. The program's wish is kept by the agent
// (agent/signals.h) and put back at the end. Three things are more than a thread's present mask:
//
//   - libc blocks signals for a moment (posix_spawn, system, popen, pthread_create, pthread_kill, abort) and puts back
//     what it has saved on the stack, by bare system calls. That moment's mask is not the program's, and the saved one
//     cannot be reached: a thread is driven out of such a function first.
//     (system() keeps it as long as its child runs: that is waited for, in threads that block SIGTRAP.)
//     Likewise of functions that are about to set a mask or an action, and of the loader when it looks one up.
//   - A handler of another signal runs with a mask of its own. The thread's mask is in the frame of the signal on its
//     stack, and comes back when the handler returns.
//   - A handler that is called later gets the mask that its action has.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "base/result.h"
#include "watch/attach/target_modules.h"
#include "watch/attach/traced_process.h"
#include "watch/unwind_stack.h"

namespace deadheat::watch {

inline constexpr std::uint64_t kTrapMask = std::uint64_t{1} << 4;  // of SIGTRAP

class SignalMasks {
 public:
  // Looks at the C library among the modules. Reads files: before the process stands still.
  SignalMasks(pid_t process, const std::vector<TargetModule>& modules);

  // libc's function to which handlers return; 0 if none was found.
  [[nodiscard]] std::uint64_t restorer() const { return restorers_.empty() ? 0 : restorers_.front(); }

  // Drives all threads out of libc's moments. False: one is still in it; let the process go on and try again.
  // Threads of libc's own that block all signals for ever are told by that: they are where they were the last times.
  // `wants_block`: the program wants SIGTRAP to be blocked in that thread. At the departure of an agent others do not
  // matter: what libc has saved of their masks is right.
  enum class Whose { kAll, kOfThoseThatWant };
  [[nodiscard]] bool settle(TracedProcess& target, Whose whose,
                            const std::function<bool(const StoppedThread&)>& wants_block);

  // Whether the program wants SIGTRAP to be blocked in that thread.
  [[nodiscard]] bool blocks_trap(const TracedProcess& target, const StoppedThread& thread,
                                 const std::vector<TargetMapping>& mappings) const;
  // In its mask and in those that handlers will give back to it.
  void unblock_trap(TracedProcess& target, const StoppedThread& thread,
                    const std::vector<TargetMapping>& mappings) const;
  void block_trap(TracedProcess& target, const StoppedThread& thread, const std::vector<TargetMapping>& mappings) const;

 private:
  struct Range {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };
  struct Place {
    std::uint64_t instruction = 0;
    std::uint64_t stack = 0;
    int times = 0;
  };

  void add_functions(const TargetModule& module);
  void add_system(const TargetModule& module);
  void add_loader(const TargetModule& module);
  [[nodiscard]] bool is_in_function(const StoppedThread& thread) const;
  [[nodiscard]] bool is_momentary(const StoppedThread& thread) const;
  [[nodiscard]] bool is_in_system(const TracedProcess& target, const StoppedThread& thread) const;
  // By unwinding, as old words on the stack look like calls and frames. Empty if there are no tables.
  [[nodiscard]] std::vector<std::uint64_t> callers(const TracedProcess& target, const StoppedThread& thread) const;
  // Addresses of the masks in the frames of signals, innermost first.
  [[nodiscard]] std::vector<std::uint64_t> saved_masks(const TracedProcess& target, const StoppedThread& thread,
                                                       const std::vector<TargetMapping>& mappings) const;
  void change(TracedProcess& target, const StoppedThread& thread, const std::vector<TargetMapping>& mappings,
              std::uint64_t bit) const;

  std::vector<Range> functions_;  // that set masks and actions by bare system calls, and the loader's
  std::vector<Range> system_functions_;
  std::vector<std::uint64_t> restorers_;
  std::map<pid_t, Place> seen_inside_;
  std::unique_ptr<StackUnwinder> unwinder_;
};

// The C library, by the name of its file.
[[nodiscard]] bool is_c_library(const std::string& path);

}  // namespace deadheat::watch
