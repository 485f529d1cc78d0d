// SPDX-License-Identifier: Apache-2.0
// Cancellation at any time (PTHREAD_CANCEL_ASYNCHRONOUS).
//
// libc cancels a thread by a signal of its own, whose handler unwinds the stack at once
// if the thread's type is asynchronous: also in the middle of the runtime, with one of its
// locks held, for which all other threads would wait for ever. So libc never hears of
// that type. The thread is deferred for libc, we keep what it asked for, and a handler of
// ours runs in front of libc's: outside of the runtime it cancels an asynchronous thread at
// once, inside it notes that the signal came, and the outermost scope cancels when it ends.
//
// libc installs its handler when the first thread is cancelled, by a system call that
// nobody sees, and sends the signal only to threads that would act on it. So after libc
// has marked a thread as cancelled, ours is put in front and the signal sent once more. A
// process without asynchronous threads keeps libc's handler and gets no signal of ours.
//
// Limit: pthread_cleanup_push_defer_np does not defer what we keep.
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>

#include <cstdint>

#include "runtime/intercept/preparation.h"
#include "runtime/intercept/replace.h"
#include "runtime/intercept/signal_mask.h"
#include "runtime/on_thread.h"
#include "runtime/system.h"
#include "runtime/thread_registry.h"

namespace deadheat::runtime {
namespace {

constexpr int kCancelSignal = 32;  // libc's; its functions refuse the number

using Handler = void(int, siginfo_t*, void*);

// As the kernel has it.
struct KernelAction {
  Handler* handler;
  std::uint64_t flags;
  void (*restorer)();
  KernelMask mask;
};

// The kind of cancellation that the thread asked for, and whether the signal came inside the runtime.
constinit thread_local bool is_asynchronous __attribute__((tls_model("initial-exec"))) = false;
constinit thread_local bool signal_waits __attribute__((tls_model("initial-exec"))) = false;

constinit std::atomic<bool> some_are_asynchronous{false};
constinit std::atomic<Handler*> libc_handler{nullptr};  // as soon as ours stands in front of it

long change_handler(const KernelAction* wanted, KernelAction* before) {
  return raw_call(SYS_rt_sigaction, kCancelSignal, as_argument(wanted), as_argument(before), sizeof(KernelMask));
}

void cancel_if_asynchronous() {
  if (is_asynchronous) pthread_testcancel();
}

void on_cancel_signal(int number, siginfo_t* information, void* context) {
  if (current.inside != 0) {
    if (thread_has_ended()) return;
    const AllSignalsBlocked blocked;  // as the others that change the number
    signal_waits = true;
    ++current.pending_signals;
    return;
  }
  libc_handler.load(std::memory_order_relaxed)(number, information, context);
  cancel_if_asynchronous();
}

// False as long as libc has no handler.
bool stand_in_front() {
  KernelAction action{};
  if (change_handler(nullptr, &action) != 0) return false;
  if (action.handler == on_cancel_signal) return true;
  if (action.handler == nullptr || reinterpret_cast<std::uintptr_t>(action.handler) == 1) return false;  // SIG_IGN
  libc_handler.store(action.handler, std::memory_order_relaxed);
  action.handler = on_cancel_signal;
  return change_handler(&action, nullptr) == 0;
}

// As the system counts threads; 0 if it is not known.
std::uint32_t number_of(pthread_t thread) {
  const ThreadState* const known = find_thread(thread);
  return known != nullptr ? known->info->os_id : 0;
}

}  // namespace

// For the unwinding of what is cancelled (cxx/forced_unwinding.cpp).
bool is_cancelled_asynchronously() { return is_asynchronous; }

void cancel_if_signal_waits() {
  if (!signal_waits) return;
  signal_waits = false;
  cancel_if_asynchronous();
}

}  // namespace deadheat::runtime

using namespace deadheat::runtime;

DEADHEAT_REPLACE(int, pthread_setcanceltype, int type, int* old) {
  DEADHEAT_ORIGINAL(pthread_setcanceltype);
  if (!is_observing() || (type != PTHREAD_CANCEL_ASYNCHRONOUS && type != PTHREAD_CANCEL_DEFERRED))
    return original(type, old);
  int before = PTHREAD_CANCEL_DEFERRED;
  const int result = original(PTHREAD_CANCEL_DEFERRED, &before);
  if (result != 0) return result;
  if (is_asynchronous) before = PTHREAD_CANCEL_ASYNCHRONOUS;
  if (old != nullptr) *old = before;
  report_written(old, sizeof(*old), DEADHEAT_CALLER);
  is_asynchronous = type == PTHREAD_CANCEL_ASYNCHRONOUS;
  if (!is_asynchronous) return 0;
  // Either who cancels us sees this, or we see that we are cancelled.
  some_are_asynchronous.store(true, std::memory_order_seq_cst);
  stand_in_front();
  pthread_testcancel();
  return 0;
}

DEADHEAT_REPLACE(int, pthread_setcancelstate, int state, int* old) {
  DEADHEAT_ORIGINAL(pthread_setcancelstate);
  const int result = original(state, old);
  if (result == 0) report_written(old, sizeof(*old), DEADHEAT_CALLER);
  if (result == 0 && state == PTHREAD_CANCEL_ENABLE && is_observing()) cancel_if_asynchronous();
  return result;
}

DEADHEAT_REPLACE(int, pthread_cancel, pthread_t thread) {
  DEADHEAT_ORIGINAL(pthread_cancel);
  const std::uint32_t number = is_observing() ? number_of(thread) : 0;  // it may be gone afterwards
  const int result = original(thread);
  if (result != 0 || !is_observing() || !some_are_asynchronous.load(std::memory_order_seq_cst)) return result;
  if (pthread_equal(thread, pthread_self()) != 0) {
    cancel_if_asynchronous();
    return 0;
  }
  // Another thread that has the number by now takes no notice of it.
  if (number != 0 && stand_in_front()) raw_call(SYS_tgkill, raw_call(SYS_getpid), number, kCancelSignal);
  return 0;
}
