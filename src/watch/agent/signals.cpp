// SPDX-License-Identifier: Apache-2.0
#include "watch/agent/signals.h"

#include <sys/syscall.h>

#include <atomic>
#include <cerrno>
#include <cstdint>

#include "watch/agent/signal_calls.h"
#include "watch/agent/system.h"

namespace deadheat::watch {

constinit thread_local TrapView trap_view __attribute__((tls_model("initial-exec"))) = {};
constinit std::atomic<bool> trap_is_ours{false};

namespace {

constexpr std::uint64_t kTrapBit = std::uint64_t{1} << (SIGTRAP - 1);

constinit SpinLock lock;                         // with signals blocked
constinit struct sigaction program_action = {};  // for SIGTRAP; lock
constinit std::atomic<long> own_process{0};

struct KernelAction {
  void* handler;
  unsigned long flags;
  void* restorer;
  std::uint64_t mask;
};

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
  const KernelAction none = {};
  raw_call(SYS_rt_sigaction, SIGTRAP, as_argument(&none), 0, sizeof(std::uint64_t));
  raw_call(SYS_rt_sigprocmask, SIG_UNBLOCK, as_argument(&kTrapBit), 0, sizeof kTrapBit);
  raise_trap();
  raw_call(SYS_exit_group, 128 + SIGTRAP);
  __builtin_unreachable();
}

void run_program_handler(const struct sigaction& action, siginfo_t* information, ucontext_t* context) {
  const bool seemed_blocked = trap_view.seems_blocked;
  if ((action.sa_flags & SA_NODEFER) == 0) trap_view.seems_blocked = true;
  std::uint64_t mask = (context->uc_sigmask.__val[0] | action.sa_mask.__val[0]) & ~kTrapBit;
  std::uint64_t before = 0;
  raw_call(SYS_rt_sigprocmask, SIG_SETMASK, as_argument(&mask), as_argument(&before), sizeof mask);
  reinterpret_cast<TrapHandler*>(action.sa_sigaction)(SIGTRAP, information, context);
  raw_call(SYS_rt_sigprocmask, SIG_SETMASK, as_argument(&before), 0, sizeof before);
  trap_view.seems_blocked = seemed_blocked;
  raise_if_pending();
}

}  // namespace

bool take_over_trap(TrapHandler* handler) {
  note_own_process();
  struct sigaction action = {};
  sigfillset(&action.sa_mask);
  sigdelset(&action.sa_mask, SIGTRAP);
  // A trap while we are in the handler is the agent's own, and has to be seen as such.
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  action.sa_sigaction = handler;
  if (call_real_sigaction(SIGTRAP, &action, &program_action) != 0) return false;
  std::uint64_t before = 0;
  raw_call(SYS_rt_sigprocmask, SIG_UNBLOCK, as_argument(&kTrapBit), as_argument(&before), sizeof before);
  trap_view.seems_blocked = (before & kTrapBit) != 0;
  trap_is_ours.store(true, std::memory_order_relaxed);
  return true;
}

int exchange_trap_action(const struct sigaction* wanted, struct sigaction* old) {
  const SignalsBlocked blocked;
  const SpinHolder hold(lock);
  const struct sigaction before = program_action;
  if (wanted != nullptr) program_action = *wanted;
  if (old != nullptr) *old = before;
  return 0;
}

bool trap_seems_blocked() { return trap_view.seems_blocked; }

void begin_signals_of_thread(bool seems_blocked) {
  trap_view.seems_blocked = seems_blocked;
  if (!trap_is_ours.load(std::memory_order_relaxed)) return;
  std::uint64_t before = 0;
  // Blocked after all if it stands in the attributes of the thread.
  raw_call(SYS_rt_sigprocmask, SIG_UNBLOCK, as_argument(&kTrapBit), as_argument(&before), sizeof before);
  if ((before & kTrapBit) != 0) trap_view.seems_blocked = true;
}

void set_trap_seems_blocked(bool seems_blocked) {
  // A child of vfork must not change what its parent believes.
  if (trap_view.seems_blocked == seems_blocked || !is_own_process()) return;
  trap_view.seems_blocked = seems_blocked;
  raise_if_pending();
}

void raise_if_pending() {
  if (trap_view.seems_blocked || !trap_view.is_pending) return;
  trap_view.is_pending = false;
  raise_trap();
}

void give_trap_to_program(siginfo_t* information, ucontext_t* context) {
  const bool was_sent = information->si_code <= 0;  // by kill() and the like, not by an instruction
  if (was_sent && trap_view.seems_blocked) {
    trap_view.is_pending = true;
    return;
  }
  if (trap_view.seems_blocked) die_by_trap();
  const struct sigaction action = current_action();
  if (action.sa_handler == SIG_IGN && was_sent) return;
  if (action.sa_handler == SIG_IGN || action.sa_handler == SIG_DFL) die_by_trap();
  run_program_handler(action, information, context);
}

void note_own_process() { own_process.store(raw_call(SYS_getpid), std::memory_order_relaxed); }

bool is_own_process() { return own_process.load(std::memory_order_relaxed) == raw_call(SYS_getpid); }

}  // namespace deadheat::watch
