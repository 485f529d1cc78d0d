// SPDX-License-Identifier: Apache-2.0
#include "watch/agent/signals.h"

#include <sys/syscall.h>

#include <atomic>
#include <cerrno>
#include <cstdint>

#include "base/signals_blocked.h"
#include "watch/agent/signal_calls.h"
#include "watch/agent/system.h"

namespace deadheat::watch {

constinit std::atomic<bool> trap_is_ours{false};
constinit AttachSignals signals_at_end;  // the action: lock

namespace {

constexpr std::uint64_t kTrapBit = std::uint64_t{1} << (SIGTRAP - 1);

constinit SpinLock lock;                         // with signals blocked
constinit struct sigaction program_action = {};  // for SIGTRAP; lock
constinit std::atomic<long> own_process{0};

constinit KernelAction kernel_action_before;
constinit bool was_changed = false;  // since; lock

// What a handler returns to; debuggers know it by these instructions.
extern "C" __attribute__((naked, visibility("hidden"))) void deadheat_watch_restorer() {
  __asm__ volatile("movq $15, %rax\n\tsyscall");
}

long set_kernel_action(const KernelAction& action, KernelAction* before) {
  return raw_call(SYS_rt_sigaction, SIGTRAP, as_argument(&action), as_argument(before), sizeof action.mask);
}

struct sigaction current_action() {
  const SignalsBlocked blocked;
  const SpinHolder hold(lock);
  const struct sigaction action = program_action;
  if ((action.sa_flags & static_cast<int>(SA_RESETHAND)) != 0) program_action.sa_handler = SIG_DFL;
  return action;
}

void raise_trap() { raw_call(SYS_tgkill, raw_call(SYS_getpid), raw_call(SYS_gettid), SIGTRAP); }

// As the kernel does when nobody handles it.
[[noreturn]] void die_by_trap() {
  set_kernel_action({}, nullptr);
  raw_call(SYS_rt_sigprocmask, SIG_UNBLOCK, as_argument(&kTrapBit), 0, sizeof kTrapBit);
  raise_trap();
  raw_call(SYS_exit_group, 128 + SIGTRAP);
  __builtin_unreachable();
}

void run_program_handler(const struct sigaction& action, siginfo_t* information, ucontext_t* context) {
  const bool seemed_blocked = trap_view().seems_blocked;
  if ((action.sa_flags & SA_NODEFER) == 0) trap_view().seems_blocked = true;
  std::uint64_t mask = (context->uc_sigmask.__val[0] | action.sa_mask.__val[0]) & ~kTrapBit;
  std::uint64_t before = 0;
  raw_call(SYS_rt_sigprocmask, SIG_SETMASK, as_argument(&mask), as_argument(&before), sizeof mask);
  reinterpret_cast<TrapHandler*>(action.sa_sigaction)(SIGTRAP, information, context);
  raw_call(SYS_rt_sigprocmask, SIG_SETMASK, as_argument(&before), 0, sizeof before);
  trap_view().seems_blocked = seemed_blocked;
  raise_if_pending();
}

}  // namespace

bool take_over_trap(TrapHandler* handler) {
  note_own_process();
  // By the system call: an agent in a running process must not call libc. A trap while we are in the handler is
  // the agent's own, and has to be seen as such.
  KernelAction action;
  action.handler = reinterpret_cast<std::uint64_t>(handler);
  action.flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER | kActionHasRestorer;
  action.restorer = reinterpret_cast<std::uint64_t>(&deadheat_watch_restorer);
  action.mask = ~kTrapBit;
  if (set_kernel_action(action, &kernel_action_before) != 0) return false;
  signals_at_end.trap_action = kernel_action_before;
  program_action.sa_handler = reinterpret_cast<sighandler_t>(kernel_action_before.handler);
  program_action.sa_flags = static_cast<int>(kernel_action_before.flags & ~kActionHasRestorer);
  program_action.sa_mask.__val[0] = kernel_action_before.mask;
  trap_is_ours.store(true, std::memory_order_relaxed);
  return true;
}

int exchange_trap_action(const struct sigaction* wanted, struct sigaction* old) {
  const SignalsBlocked blocked;
  const SpinHolder hold(lock);
  const struct sigaction before = program_action;
  if (wanted != nullptr) {
    program_action = *wanted;
    was_changed = true;
    signals_at_end.trap_action = {reinterpret_cast<std::uint64_t>(wanted->sa_handler),
                                  static_cast<std::uint32_t>(wanted->sa_flags) & ~kActionHasRestorer, 0,
                                  wanted->sa_mask.__val[0]};
    signals_at_end.needs_restorer = 1;
  }
  if (old != nullptr) *old = before;
  return 0;
}

bool trap_seems_blocked() { return trap_view().seems_blocked; }

bool unblock_trap() {
  if (!trap_is_ours.load(std::memory_order_relaxed)) return false;
  std::uint64_t before = 0;
  raw_call(SYS_rt_sigprocmask, SIG_UNBLOCK, as_argument(&kTrapBit), as_argument(&before), sizeof before);
  return (before & kTrapBit) != 0;
}

void give_trap_back() {
  lock.reset();
  // What the program has set since has no restorer of libc's: then the handler stays, and passes it on.
  if (was_changed || !trap_is_ours.exchange(false, std::memory_order_relaxed)) return;
  set_kernel_action(kernel_action_before, nullptr);
  const TrapView view = trap_view();
  if (view.seems_blocked) raw_call(SYS_rt_sigprocmask, SIG_BLOCK, as_argument(&kTrapBit), 0, sizeof kTrapBit);
}

TrapView& trap_view() {
  if (ThreadRecord* const self = current_thread()) return self->trap;
  static constinit TrapView nobodys = {};
  nobodys = {};
  return nobodys;
}

void set_trap_seems_blocked(bool seems_blocked) {
  // A child of vfork must not change what its parent believes.
  if (trap_view().seems_blocked == seems_blocked || !is_own_process()) return;
  trap_view().seems_blocked = seems_blocked;
  raise_if_pending();
}

void raise_if_pending() {
  if (trap_view().seems_blocked || !trap_view().is_pending) return;
  trap_view().is_pending = false;
  raise_trap();
}

void give_trap_to_program(siginfo_t* information, ucontext_t* context) {
  const bool was_sent = information->si_code <= 0;  // by kill() and the like, not by an instruction
  if (was_sent && trap_view().seems_blocked) {
    trap_view().is_pending = true;
    return;
  }
  if (trap_view().seems_blocked) die_by_trap();
  const struct sigaction action = current_action();
  if (action.sa_handler == SIG_IGN && was_sent) return;
  if (action.sa_handler == SIG_IGN || action.sa_handler == SIG_DFL) die_by_trap();
  run_program_handler(action, information, context);
}

void note_own_process() { own_process.store(raw_call(SYS_getpid), std::memory_order_relaxed); }

bool is_own_process() { return own_process.load(std::memory_order_relaxed) == raw_call(SYS_getpid); }

}  // namespace deadheat::watch
