// SPDX-License-Identifier: Apache-2.0
// Signal handlers of the program.
//
// A handler may interrupt the runtime while it holds a lock or changes a shadow
// cell, and do anything itself. So the kernel calls our handler, which runs the
// program's at once when the thread is outside of the runtime, and otherwise keeps
// the signal with its siginfo and context until the outermost scope ends: before
// the interrupted hook or intercepted function returns to the program, so before
// the program could tell. Nothing is blocked meanwhile. Faults that the thread
// raises itself (a bad address handed to memcpy, say) cannot wait and run at once.
//
// The kernel's table of actions stays the truth: old actions are read from it, and
// ours is only translated back to the handler that the program gave. So
// SA_RESETHAND, SIG_DFL, SIG_IGN, siginterrupt() and exec work by themselves. We
// add SA_SIGINFO; handlers of one argument do not mind two more on x86-64. The
// handler of a signal is one word here, changed before the kernel's action; a
// signal between the two runs the new handler, as it might a moment later.
//
// sigaction() happens before each run of the handler it installs, and so does the
// sending of the signal (signal_order.h). Whatever the thread
// ignores when the signal arrives is the affair of the code that was interrupted:
// the handler's accesses and synchronisation count.
//
// Limits: what a deferred handler changes in its context is lost, and it runs on
// the thread's own stack even with SA_ONSTACK. Without memory for a deferred
// signal it runs at once.
#include <signal.h>
#include <ucontext.h>

#include <cstring>

#include "runtime/access_check.h"
#include "runtime/intercept/preparation.h"
#include "runtime/intercept/replace.h"
#include "runtime/intercept/signal_mask.h"
#include "runtime/intercept/signal_order.h"
#include "runtime/on_sync.h"
#include "runtime/on_thread.h"
#include "runtime/page_source.h"
#include "runtime/system.h"
#include "runtime/thread_registry.h"

namespace deadheat::runtime {
namespace {

constexpr int kSignals = 65;  // numbered from 1
using Handler = void(int, siginfo_t*, void*);

// What the program asked for. Written with `lock` held; our handler reads it without,
// as any of two concurrent settings will do.
struct Action {
  std::atomic<Handler*> handler{nullptr};
  std::atomic<KernelMask> mask{0};
  std::atomic<int> flags{0};
};
constinit Action actions[kSignals];
constinit SpinLock lock;                            // held with all signals blocked
constinit std::atomic<KernelMask> interrupting{0};  // by siginterrupt(): signal() without SA_RESTART

constexpr KernelMask bit_of(int number) { return 1ULL << (number - 1); }

// libc's sets are longer than the kernel's.
KernelMask kernel_mask(const sigset_t& set) { return set.__val[0]; }

// A signal that waits for the end of a scope: made by our handler, consumed by
// deliver_pending_signals(), both in the same thread.
struct PendingSignal {
  PendingSignal* next;
  Handler* handler;
  KernelMask blocked;  // while the handler runs, in addition
  int number;
  siginfo_t information;
  ucontext_t context;
};

struct PendingQueue {
  PendingSignal* first = nullptr;
  PendingSignal* last = nullptr;
};
constinit thread_local PendingQueue pending __attribute__((tls_model("initial-exec")));

// Ends what the interrupted code ignores, as often as it has begun, until the handler
// has returned.
class EndedIgnores {
 public:
  EndedIgnores() {
    if (!is_observing()) return;
    ThreadState& thread = self();
    for (; thread.ignore.ignores(AccessKind::kRead); ++reads_) on_ignore_end(thread, Ignore::kReads, 0);
    for (; thread.ignore.ignores(AccessKind::kWrite); ++writes_) on_ignore_end(thread, Ignore::kWrites, 0);
    for (; thread.ignore.ignores_sync(); ++sync_) on_ignore_end(thread, Ignore::kSync, 0);
  }
  ~EndedIgnores() {
    for (; reads_ != 0; --reads_) on_ignore_begin(self(), Ignore::kReads, 0);
    for (; writes_ != 0; --writes_) on_ignore_begin(self(), Ignore::kWrites, 0);
    for (; sync_ != 0; --sync_) on_ignore_begin(self(), Ignore::kSync, 0);
  }
  EndedIgnores(const EndedIgnores&) = delete;
  EndedIgnores& operator=(const EndedIgnores&) = delete;

 private:
  std::uint32_t reads_ = 0;
  std::uint32_t writes_ = 0;
  std::uint32_t sync_ = 0;
};

// The compiler's entry hook writes the frame above the top before it moves the
// top; a handler in between must leave that frame as it was.
void run_handler(Handler* handler, int number, siginfo_t* information, void* context) {
  const KeepErrno keep;
  const EndedIgnores ended;
  if (is_observing()) on_happens_after(self(), address_of(&actions[number]), 0);
  after_signal(number, *information, 0);
  Frame* const top = open_calls();
  const bool has_room = top != nullptr && top < current.limit;
  const Frame interrupted = has_room ? *top : Frame{};
  const std::uint32_t outer = enter_handler_jumps();
  handler(number, information, context);
  leave_handler_jumps(outer);
  if (top != nullptr) unwind_calls(top);
  if (has_room) *top = interrupted;
}

bool is_own_fault(int number, const siginfo_t& information) {
  switch (number) {
    case SIGSEGV:
    case SIGBUS:
    case SIGILL:
    case SIGFPE:
    case SIGTRAP:
    case SIGSYS:
      return information.si_code > 0;  // by the kernel, not by kill()
    default:
      return false;
  }
}

void copy_context(ucontext_t& to, const ucontext_t& from) {
  constexpr std::size_t kKernelsPart = offsetof(ucontext_t, __fpregs_mem);
  std::memset(&to, 0, sizeof to);
  // The kernel's mask is shorter than libc's: what lies behind it is not ours.
  std::memcpy(&to, &from, offsetof(ucontext_t, uc_sigmask) + sizeof(KernelMask));
  static_assert(offsetof(ucontext_t, uc_sigmask) + sizeof(KernelMask) <= kKernelsPart);
  to.uc_mcontext.fpregs = nullptr;
  if (from.uc_mcontext.fpregs != nullptr) {
    std::memcpy(&to.__fpregs_mem, from.uc_mcontext.fpregs, sizeof to.__fpregs_mem);
    to.uc_mcontext.fpregs = &to.__fpregs_mem;
  }
}

// In our handler. False when there is no memory.
bool defer(Handler* handler, int number, const siginfo_t& information, const void* context) {
  auto* const signal = static_cast<PendingSignal*>(PageSource::try_allocate(sizeof(PendingSignal)));
  if (signal == nullptr) return false;
  // The queue must not change hands while we are in it.
  const AllSignalsBlocked blocked;
  const Action& action = actions[number];
  signal->next = nullptr;
  signal->handler = handler;
  signal->blocked = action.mask.load(std::memory_order_relaxed);
  if ((action.flags.load(std::memory_order_relaxed) & SA_NODEFER) == 0) signal->blocked |= bit_of(number);
  signal->number = number;
  signal->information = information;
  copy_context(signal->context, *static_cast<const ucontext_t*>(context));
  if (pending.last != nullptr) {
    pending.last->next = signal;
  } else {
    pending.first = signal;
  }
  pending.last = signal;
  ++current.pending_signals;
  return true;
}

void on_signal(int number, siginfo_t* information, void* context) {
  Handler* const handler = actions[number].handler.load(std::memory_order_relaxed);
  if (handler == nullptr) return;  // the program has just given it up
  const KeepErrno keep;
  const bool must_wait = current.inside != 0 && !thread_has_ended() && !is_own_fault(number, *information);
  if (must_wait && defer(handler, number, *information, context)) return;
  run_handler(handler, number, information, context);
}

PendingSignal* take_pending() {
  PendingSignal* const signal = pending.first;
  if (signal == nullptr) {
    current.pending_signals = 0;
    return nullptr;
  }
  pending.first = signal->next;
  if (pending.first == nullptr) pending.last = nullptr;
  --current.pending_signals;
  return signal;
}

bool is_ours(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == on_signal;
}

// From the kernel's view of an action to the program's.
void translate_back(struct sigaction& action, Handler* handler, int flags) {
  if (!is_ours(action)) return;
  action.sa_sigaction = handler;
  if ((flags & SA_SIGINFO) == 0) action.sa_flags &= ~SA_SIGINFO;
}

bool has_handler(const struct sigaction& action) {
  return action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN;
}

using RealSigaction = int(int, const struct sigaction*, struct sigaction*);
DEADHEAT_LOOKED_UP(sigaction, "sigaction");
constinit RealFunction<RealSigaction> real_sigaction;

// Installs our handler for the program's. Signals blocked, lock held.
int install(Action& action, int number, const struct sigaction& wanted, struct sigaction& before) {
  Handler* const old_handler = action.handler.load(std::memory_order_relaxed);
  struct sigaction ours = wanted;
  ours.sa_sigaction = on_signal;
  ours.sa_flags |= SA_SIGINFO;
  action.handler.store(wanted.sa_sigaction, std::memory_order_relaxed);
  const int result = real_sigaction.get("sigaction")(number, &ours, &before);
  if (result != 0) {
    action.handler.store(old_handler, std::memory_order_relaxed);
    return result;
  }
  translate_back(before, old_handler, action.flags.load(std::memory_order_relaxed));
  action.mask.store(kernel_mask(wanted.sa_mask), std::memory_order_relaxed);
  action.flags.store(wanted.sa_flags, std::memory_order_relaxed);
  return 0;
}

// Signals blocked, lock held.
int change_action(int number, const struct sigaction* wanted, struct sigaction& before) {
  Action& action = actions[number];
  if (wanted != nullptr && has_handler(*wanted)) return install(action, number, *wanted, before);
  const int result = real_sigaction.get("sigaction")(number, wanted, &before);
  if (result == 0)
    translate_back(before, action.handler.load(std::memory_order_relaxed),
                   action.flags.load(std::memory_order_relaxed));
  return result;
}

// sigaction() as the program sees it. Async-signal-safe, like the real one. The
// program's memory is touched outside of the lock.
int set_action(int number, const struct sigaction* wanted, struct sigaction* old) {
  if (wanted != nullptr) raise_update_mode(UpdateMode::kInterrupted);
  if (number < 1 || number >= kSignals || current.inside != 0 || !owns_its_memory())
    return real_sigaction.get("sigaction")(number, wanted, old);
  struct sigaction asked = {};
  struct sigaction before = {};
  if (wanted != nullptr) asked = *wanted;
  int result = 0;
  {
    const AllSignalsBlocked blocked;
    const RuntimeScope scope;
    const SpinHolder holder(lock);
    result = change_action(number, wanted != nullptr ? &asked : nullptr, before);
  }
  if (result == 0 && old != nullptr) *old = before;
  return result;
}

int announce_and_set(int number, const struct sigaction* wanted, struct sigaction* old, Address code) {
  if (wanted != nullptr && number >= 1 && number < kSignals && is_observing() && has_handler(*wanted))
    on_happens_before(self(), address_of(&actions[number]), code);
  return set_action(number, wanted, old);
}

sighandler_t set_simply(int number, sighandler_t handler, int flags, KernelMask mask, Address code) {
  if (handler == SIG_ERR || number < 1 || number >= kSignals) {
    errno = EINVAL;
    return SIG_ERR;
  }
  struct sigaction wanted = {};
  struct sigaction old = {};
  wanted.sa_handler = handler;
  wanted.sa_flags = flags;
  wanted.sa_mask.__val[0] = mask;
  return announce_and_set(number, &wanted, &old, code) == 0 ? old.sa_handler : SIG_ERR;
}

sighandler_t set_like_bsd(int number, sighandler_t handler, Address code) {
  if (number < 1 || number >= kSignals) return set_simply(number, handler, 0, 0, code);
  const bool interrupts = (interrupting.load(std::memory_order_relaxed) & bit_of(number)) != 0;
  return set_simply(number, handler, interrupts ? 0 : SA_RESTART, bit_of(number), code);
}

sighandler_t set_like_system_v(int number, sighandler_t handler, Address code) {
  return set_simply(number, handler, static_cast<int>(SA_RESETHAND) | SA_NODEFER, 0, code);
}

}  // namespace

// Takes one signal at a time: a handler may jump out, and the others still wait.
// Also called by a thread that has ended and stays inside for ever.
void deliver_pending_signals() {
  while (true) {
    PendingSignal signal;
    {
      const AllSignalsBlocked blocked;
      ++current.inside;  // not a scope, whose end would deliver
      PendingSignal* const taken = take_pending();
      if (taken != nullptr) {
        std::memcpy(&signal, taken, sizeof signal);
        PageSource::release(taken, sizeof signal);
      }
      --current.inside;
      if (taken == nullptr) break;
    }
    if (signal.context.uc_mcontext.fpregs != nullptr) signal.context.uc_mcontext.fpregs = &signal.context.__fpregs_mem;
    const KernelMask before = change_mask(SIG_BLOCK, signal.blocked);
    run_handler(signal.handler, signal.number, &signal.information, &signal.context);
    change_mask(SIG_SETMASK, before);
  }
  cancel_if_signal_waits();
}

void reset_signals_in_child() {
  lock.reset();
  while (PendingSignal* const signal = take_pending()) PageSource::release(signal, sizeof *signal);
}

}  // namespace deadheat::runtime

using namespace deadheat::runtime;

DEADHEAT_REPLACE(int, sigaction, int number, const struct sigaction* wanted, struct sigaction* old) {
  report_read(wanted, sizeof(*wanted), DEADHEAT_CALLER);
  const int result = announce_and_set(number, wanted, old, DEADHEAT_CALLER);
  if (result == 0) report_written(old, sizeof(*old), DEADHEAT_CALLER);
  return result;
}

DEADHEAT_REPLACE(int, __sigaction, int number, const struct sigaction* wanted, struct sigaction* old) {
  return announce_and_set(number, wanted, old, DEADHEAT_CALLER);
}

DEADHEAT_REPLACE(sighandler_t, signal, int number, sighandler_t handler) {
  return set_like_bsd(number, handler, DEADHEAT_CALLER);
}

DEADHEAT_REPLACE(sighandler_t, bsd_signal, int number, sighandler_t handler) {
  return set_like_bsd(number, handler, DEADHEAT_CALLER);
}

DEADHEAT_REPLACE(sighandler_t, ssignal, int number, sighandler_t handler) {
  return set_like_bsd(number, handler, DEADHEAT_CALLER);
}

DEADHEAT_REPLACE(sighandler_t, sysv_signal, int number, sighandler_t handler) {
  return set_like_system_v(number, handler, DEADHEAT_CALLER);
}

DEADHEAT_REPLACE(sighandler_t, __sysv_signal, int number, sighandler_t handler) {
  return set_like_system_v(number, handler, DEADHEAT_CALLER);
}

// The real function changes the kernel's action, which is ours, and keeps it.
DEADHEAT_REPLACE(int, siginterrupt, int number, int interrupt) {
  DEADHEAT_ORIGINAL(siginterrupt);
  const int result = original(number, interrupt);
  if (result != 0) return result;
  if (interrupt != 0) {
    interrupting.fetch_or(bit_of(number), std::memory_order_relaxed);
  } else {
    interrupting.fetch_and(~bit_of(number), std::memory_order_relaxed);
  }
  return result;
}

// Sets a handler and unblocks the signal, or with SIG_HOLD only blocks it.
// Returns SIG_HOLD if it was blocked, the old handler otherwise.
DEADHEAT_REPLACE(sighandler_t, sigset, int number, sighandler_t disposition) {
  struct sigaction old = {};
  const bool is_hold = disposition == SIG_HOLD;
  if (is_hold) {
    if (set_action(number, nullptr, &old) != 0) return SIG_ERR;
  } else {
    old.sa_handler = set_simply(number, disposition, 0, 0, DEADHEAT_CALLER);
    if (old.sa_handler == SIG_ERR) return SIG_ERR;
  }
  const KernelMask before = change_mask(is_hold ? SIG_BLOCK : SIG_UNBLOCK, bit_of(number));
  return (before & bit_of(number)) != 0 ? SIG_HOLD : old.sa_handler;
}
