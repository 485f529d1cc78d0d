// SPDX-License-Identifier: Apache-2.0
// Functions by which a program sets actions and masks: see signals.h.
#include "watch/agent/signal_calls.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>

#include <cerrno>
#include <cstdint>

#include "base/replaced_functions.h"
#include "watch/agent/signals.h"

using namespace deadheat::watch;

namespace {

bool is_ours() { return trap_is_ours.load(std::memory_order_relaxed); }

constexpr unsigned long kTrapBit = 1UL << (SIGTRAP - 1);
bool has_trap(const sigset_t& set) { return (set.__val[0] & kTrapBit) != 0; }

// A mask for the kernel, which SIGTRAP is never in.
class WithoutTrap {
 public:
  explicit WithoutTrap(const sigset_t* set) : set_(set) {
    if (set == nullptr || !is_ours() || !has_trap(*set)) return;
    // The program's set may be shorter than libc's type in old programs: only the kernel's word.
    copy_.__val[0] = set->__val[0] & ~kTrapBit;
    set_ = &copy_;
  }
  [[nodiscard]] const sigset_t* get() const { return set_; }

 private:
  sigset_t copy_ = {};
  const sigset_t* set_;
};

// The same for calls that wait, and are left by a jump: the copy is the thread's, and the kernel reads it at once.
const sigset_t* without_trap(const sigset_t* set) {
  ThreadRecord* const self = current_thread();
  if (set == nullptr || self == nullptr || !is_ours() || !has_trap(*set)) return set;
  self->mask_for_kernel[0] = set->__val[0] & ~kTrapBit;
  return reinterpret_cast<const sigset_t*>(self->mask_for_kernel);
}

std::uint64_t& masks_with_trap() { return signals_at_end.masks_with_trap; }

int set_action(int number, const struct sigaction* wanted, struct sigaction* old) {
  if (!is_ours()) return call_real_sigaction(number, wanted, old);
  if (number == SIGTRAP) return exchange_trap_action(wanted, old);
  struct sigaction copy = {};
  bool has = false;
  if (wanted != nullptr) {
    copy = *wanted;
    has = has_trap(copy.sa_mask);
    copy.sa_mask.__val[0] &= ~kTrapBit;
  }
  const int result = call_real_sigaction(number, wanted != nullptr ? &copy : nullptr, old);
  if (result != 0) return result;
  const std::uint64_t bit = std::uint64_t{1} << (number - 1);
  if (old != nullptr && (__atomic_load_n(&masks_with_trap(), __ATOMIC_RELAXED) & bit) != 0)
    old->sa_mask.__val[0] |= kTrapBit;
  if (wanted != nullptr && has) __atomic_fetch_or(&masks_with_trap(), bit, __ATOMIC_RELAXED);
  if (wanted != nullptr && !has) __atomic_fetch_and(&masks_with_trap(), ~bit, __ATOMIC_RELAXED);
  return result;
}

sighandler_t set_trap_handler(sighandler_t handler, int flags) {
  struct sigaction wanted = {};
  struct sigaction old = {};
  wanted.sa_handler = handler;
  wanted.sa_flags = flags;
  exchange_trap_action(&wanted, &old);
  return old.sa_handler;
}

// `change` is the real function, with the mask that the kernel gets.
template <class Change>
int change_mask(int how, const sigset_t* set, sigset_t* old, Change change) {
  if (!is_ours()) return change(set);
  const bool has = set != nullptr && has_trap(*set);  // `old` may be the same object
  const bool seemed_blocked = trap_seems_blocked();
  const WithoutTrap mask(set);
  const int result = change(how == SIG_UNBLOCK ? set : mask.get());
  if (result != 0) return result;
  if (old != nullptr && seemed_blocked) old->__val[0] |= kTrapBit;
  if (set == nullptr) return result;
  if (how == SIG_SETMASK) set_trap_seems_blocked(has);
  if (how == SIG_BLOCK && has) set_trap_seems_blocked(true);
  if (how == SIG_UNBLOCK && has) set_trap_seems_blocked(false);
  return result;
}

// A SIGTRAP that came while it seemed to be blocked.
bool take_pending_trap(const sigset_t* set) {
  if (!is_ours() || !trap_view().is_pending || !has_trap(*set)) return false;
  trap_view().is_pending = false;
  return true;
}

}  // namespace

DEADHEAT_REPLACE(int, sigaction, int number, const struct sigaction* wanted, struct sigaction* old) {
  return set_action(number, wanted, old);
}
DEADHEAT_REPLACE(int, __sigaction, int number, const struct sigaction* wanted, struct sigaction* old) {
  return set_action(number, wanted, old);
}

int deadheat::watch::call_real_sigaction(int number, const struct sigaction* wanted, struct sigaction* old) {
  DEADHEAT_ORIGINAL(sigaction);
  return original(number, wanted, old);
}

#define DEADHEAT_SIGNAL(name, flags)                                             \
  DEADHEAT_REPLACE(sighandler_t, name, int number, sighandler_t handler) {       \
    DEADHEAT_ORIGINAL(name);                                                     \
    if (number == SIGTRAP && is_ours()) return set_trap_handler(handler, flags); \
    return original(number, handler);                                            \
  }
DEADHEAT_SIGNAL(signal, SA_RESTART)
DEADHEAT_SIGNAL(bsd_signal, SA_RESTART)
DEADHEAT_SIGNAL(ssignal, SA_RESTART)
DEADHEAT_SIGNAL(sysv_signal, static_cast<int>(SA_RESETHAND | SA_NODEFER))
DEADHEAT_SIGNAL(__sysv_signal, static_cast<int>(SA_RESETHAND | SA_NODEFER))

DEADHEAT_REPLACE(sighandler_t, sigset, int number, sighandler_t disposition) {
  DEADHEAT_ORIGINAL(sigset);
  if (number != SIGTRAP || !is_ours()) return original(number, disposition);
  const bool was_blocked = trap_seems_blocked();
  struct sigaction old = {};
  exchange_trap_action(nullptr, &old);
  if (disposition != SIG_HOLD) set_trap_handler(disposition, 0);
  set_trap_seems_blocked(disposition == SIG_HOLD);
  return was_blocked ? SIG_HOLD : old.sa_handler;
}

DEADHEAT_REPLACE(int, sigignore, int number) {
  DEADHEAT_ORIGINAL(sigignore);
  if (number != SIGTRAP || !is_ours()) return original(number);
  set_trap_handler(SIG_IGN, 0);
  return 0;
}

DEADHEAT_REPLACE(int, siginterrupt, int number, int interrupt) {
  DEADHEAT_ORIGINAL(siginterrupt);
  return number == SIGTRAP && is_ours() ? 0 : original(number, interrupt);
}

DEADHEAT_REPLACE(int, sigprocmask, int how, const sigset_t* set, sigset_t* old) {
  DEADHEAT_ORIGINAL(sigprocmask);
  return change_mask(how, set, old, [&](const sigset_t* mask) { return original(how, mask, old); });
}

DEADHEAT_REPLACE(int, pthread_sigmask, int how, const sigset_t* set, sigset_t* old) {
  DEADHEAT_ORIGINAL(pthread_sigmask);
  return change_mask(how, set, old, [&](const sigset_t* mask) { return original(how, mask, old); });
}

DEADHEAT_REPLACE(int, sighold, int number) {
  DEADHEAT_ORIGINAL(sighold);
  if (number != SIGTRAP || !is_ours()) return original(number);
  set_trap_seems_blocked(true);
  return 0;
}

DEADHEAT_REPLACE(int, sigrelse, int number) {
  DEADHEAT_ORIGINAL(sigrelse);
  if (number == SIGTRAP && is_ours()) set_trap_seems_blocked(false);
  return original(number);
}

DEADHEAT_REPLACE(int, sigblock, int mask) {
  DEADHEAT_ORIGINAL(sigblock);
  if (!is_ours()) return original(mask);
  const int seemed = trap_seems_blocked() ? static_cast<int>(kTrapBit) : 0;
  if ((static_cast<unsigned>(mask) & kTrapBit) != 0) set_trap_seems_blocked(true);
  return original(mask & ~static_cast<int>(kTrapBit)) | seemed;
}

DEADHEAT_REPLACE(int, sigsetmask, int mask) {
  DEADHEAT_ORIGINAL(sigsetmask);
  if (!is_ours()) return original(mask);
  const int seemed = trap_seems_blocked() ? static_cast<int>(kTrapBit) : 0;
  set_trap_seems_blocked((static_cast<unsigned>(mask) & kTrapBit) != 0);
  return original(mask & ~static_cast<int>(kTrapBit)) | seemed;
}

// Handlers that run during these have the mask that is given here.
DEADHEAT_REPLACE(int, sigsuspend, const sigset_t* set) {
  DEADHEAT_ORIGINAL(sigsuspend);
  return original(without_trap(set));
}

DEADHEAT_REPLACE(int, ppoll, pollfd* files, nfds_t count, const timespec* time, const sigset_t* set) {
  DEADHEAT_ORIGINAL(ppoll);
  return original(files, count, time, without_trap(set));
}

DEADHEAT_REPLACE(int, pselect, int count, fd_set* readable, fd_set* writable, fd_set* exceptional, const timespec* time,
                 const sigset_t* set) {
  DEADHEAT_ORIGINAL(pselect);
  return original(count, readable, writable, exceptional, time, without_trap(set));
}

DEADHEAT_REPLACE(int, epoll_pwait, int file, epoll_event* events, int count, int milliseconds, const sigset_t* set) {
  DEADHEAT_ORIGINAL(epoll_pwait);
  return original(file, events, count, milliseconds, without_trap(set));
}

DEADHEAT_REPLACE(int, epoll_pwait2, int file, epoll_event* events, int count, const timespec* time,
                 const sigset_t* set) {
  DEADHEAT_ORIGINAL(epoll_pwait2);
  if (original == nullptr) {
    errno = ENOSYS;
    return -1;
  }
  return original(file, events, count, time, without_trap(set));
}

// Who waits for SIGTRAP gets it from the kernel while waiting, and what came before from here.
DEADHEAT_REPLACE(int, sigwait, const sigset_t* set, int* number) {
  DEADHEAT_ORIGINAL(sigwait);
  if (!take_pending_trap(set)) return original(set, number);
  *number = SIGTRAP;
  return 0;
}

DEADHEAT_REPLACE(int, sigwaitinfo, const sigset_t* set, siginfo_t* information) {
  DEADHEAT_ORIGINAL(sigwaitinfo);
  if (!take_pending_trap(set)) return original(set, information);
  if (information != nullptr) {
    *information = {};
    information->si_signo = SIGTRAP;
  }
  return SIGTRAP;
}

DEADHEAT_REPLACE(int, sigtimedwait, const sigset_t* set, siginfo_t* information, const timespec* time) {
  DEADHEAT_ORIGINAL(sigtimedwait);
  if (!take_pending_trap(set)) return original(set, information, time);
  if (information != nullptr) {
    *information = {};
    information->si_signo = SIGTRAP;
  }
  return SIGTRAP;
}

DEADHEAT_REPLACE(int, sigpending, sigset_t* set) {
  DEADHEAT_ORIGINAL(sigpending);
  const int result = original(set);
  if (result == 0 && is_ours() && trap_view().is_pending) set->__val[0] |= kTrapBit;
  return result;
}
