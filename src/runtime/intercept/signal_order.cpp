// SPDX-License-Identifier: Apache-2.0
#include "runtime/intercept/signal_order.h"

#include <pthread.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include <ctime>

#include "runtime/intercept/descriptor_order.h"
#include "runtime/intercept/kernel_order.h"
#include "runtime/intercept/relatives.h"
#include "runtime/intercept/replace.h"
#include "runtime/system.h"

namespace deadheat::runtime {
namespace {

std::uint64_t unsigned_of(long value) { return static_cast<std::uint64_t>(value); }

void take_sent(int number, Address code) {
  const std::uint64_t signal = unsigned_of(number);
  take_from_kernel(KernelObject::kSignal, signal, 0, code);
  take_from_kernel(KernelObject::kSignalToThread, signal, pthread_self(), code);
  take_from_kernel(KernelObject::kSignalToThreadId, signal, unsigned_of(raw_call(SYS_gettid)), code);
}

void take_by_origin(int number, const siginfo_t& information, Address code) {
  switch (information.si_code) {
    case SI_USER:
    case SI_TKILL:
    case SI_QUEUE:
      if (information.si_pid != raw_call(SYS_getpid)) return take_from_relatives(code);
      return take_sent(number, code);
    case SI_TIMER:
      return take_from_kernel(KernelObject::kTimer, unsigned_of(information.si_timerid), 0, code);
    case SI_MESGQ:
      return take_from_kernel(KernelObject::kQueueNotice, 0, 0, code);
    case SI_KERNEL:
      return take_from_kernel(KernelObject::kIntervalTimer, 0, 0, code);
    default:
      break;
  }
  if (number == SIGCHLD) return take_from_relatives(code);
  const bool is_of_descriptor = information.si_code >= POLL_IN && information.si_code <= POLL_HUP;
  if (is_of_descriptor && (number == SIGIO || number >= SIGRTMIN)) after_ready(information.si_fd, code);
}

}  // namespace

void after_signal(int number, const siginfo_t& information, Address code) {
  if (!is_observing()) return;
  const KeepErrno keep;
  take_by_origin(number, information, code);
}

void after_waited_signal(int number, const siginfo_t* information, Address code) {
  if (!is_observing() || number <= 0) return;
  const KeepErrno keep;
  if (information != nullptr) return take_by_origin(number, *information, code);
  take_sent(number, code);
  take_from_kernel(KernelObject::kAnyTimer, 0, 0, code);
  take_from_kernel(KernelObject::kIntervalTimer, 0, 0, code);
  take_from_kernel(KernelObject::kQueueNotice, 0, 0, code);
  take_from_relatives(code);
}

void before_signal(int number, Address code) {
  if (number == 0 || !is_observing()) return;
  give_to_kernel(KernelObject::kSignal, unsigned_of(number), 0, code);
  give_to_kernel(KernelObject::kAnySignal, 0, 0, code);
}

void before_signal_to_thread_id(int number, long thread, Address code) {
  if (number == 0 || !is_observing()) return;
  give_to_kernel(KernelObject::kSignalToThreadId, unsigned_of(number), unsigned_of(thread), code);
  give_to_kernel(KernelObject::kAnySignal, 0, 0, code);
}

void before_signal_to_process(long process, int number, Address code) {
  if (number == 0 || !is_observing()) return;
  const KeepErrno keep;
  const bool is_own = process == raw_call(SYS_getpid);
  if (is_own || process <= 0) before_signal(number, code);
  if (!is_own) give_to_relatives(code);
}

}  // namespace deadheat::runtime

using namespace deadheat;
using namespace deadheat::runtime;

DEADHEAT_REPLACE(int, kill, pid_t process, int number) {
  DEADHEAT_ORIGINAL(kill);
  before_signal_to_process(process, number, DEADHEAT_CALLER);
  return original(process, number);
}
DEADHEAT_REPLACE(int, killpg, pid_t group, int number) {
  DEADHEAT_ORIGINAL(killpg);
  before_signal_to_process(-1, number, DEADHEAT_CALLER);
  return original(group, number);
}
DEADHEAT_REPLACE(int, sigqueue, pid_t process, int number, union sigval value) {
  DEADHEAT_ORIGINAL(sigqueue);
  before_signal_to_process(process, number, DEADHEAT_CALLER);
  return original(process, number, value);
}
DEADHEAT_REPLACE(int, pidfd_send_signal, int process, int number, siginfo_t* information, unsigned flags) {
  DEADHEAT_ORIGINAL(pidfd_send_signal);
  before_signal_to_process(-1, number, DEADHEAT_CALLER);
  return original(process, number, information, flags);
}
DEADHEAT_REPLACE(int, tgkill, pid_t process, pid_t thread, int number) {
  DEADHEAT_ORIGINAL(tgkill);
  before_signal_to_thread_id(number, thread, DEADHEAT_CALLER);
  return original(process, thread, number);
}
DEADHEAT_REPLACE(int, pthread_kill, pthread_t thread, int number) {
  DEADHEAT_ORIGINAL(pthread_kill);
  if (number != 0) {
    give_to_kernel(KernelObject::kSignalToThread, unsigned_of(number), thread, DEADHEAT_CALLER);
    give_to_kernel(KernelObject::kAnySignal, 0, 0, DEADHEAT_CALLER);
  }
  return original(thread, number);
}
DEADHEAT_REPLACE(int, pthread_sigqueue, pthread_t thread, int number, union sigval value) {
  DEADHEAT_ORIGINAL(pthread_sigqueue);
  if (number != 0) {
    give_to_kernel(KernelObject::kSignalToThread, unsigned_of(number), thread, DEADHEAT_CALLER);
    give_to_kernel(KernelObject::kAnySignal, 0, 0, DEADHEAT_CALLER);
  }
  return original(thread, number, value);
}

DEADHEAT_REPLACE(int, sigwait, const sigset_t* set, int* number) {
  DEADHEAT_ORIGINAL(sigwait);
  const int result = original(set, number);
  if (result != 0) return result;
  after_waited_signal(*number, nullptr, DEADHEAT_CALLER);
  report_written(number, sizeof(*number), DEADHEAT_CALLER);
  return result;
}
DEADHEAT_REPLACE(int, sigwaitinfo, const sigset_t* set, siginfo_t* information) {
  DEADHEAT_ORIGINAL(sigwaitinfo);
  const int number = original(set, information);
  after_waited_signal(number, information, DEADHEAT_CALLER);
  if (number > 0) report_written(information, sizeof(*information), DEADHEAT_CALLER);
  return number;
}
DEADHEAT_REPLACE(int, sigtimedwait, const sigset_t* set, siginfo_t* information, const timespec* limit) {
  DEADHEAT_ORIGINAL(sigtimedwait);
  report_read(limit, sizeof(*limit), DEADHEAT_CALLER);
  const int number = original(set, information, limit);
  after_waited_signal(number, information, DEADHEAT_CALLER);
  if (number > 0) report_written(information, sizeof(*information), DEADHEAT_CALLER);
  return number;
}
// Its bytes tell less than all senders together.
DEADHEAT_REPLACE(int, signalfd, int descriptor, const sigset_t* set, int flags) {
  DEADHEAT_ORIGINAL(signalfd);
  const int result = original(descriptor, set, flags);
  if (result < 0 || descriptor >= 0 || !is_observing()) return result;
  const KeepErrno keep;
  forget_descriptor(result);
  note_made(result, Made::kByName);
  name_channel(result, kernel_tag(KernelObject::kAnySignal));
  after_opening(result, DEADHEAT_CALLER);
  return result;
}
