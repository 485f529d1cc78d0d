// SPDX-License-Identifier: Apache-2.0
// Initialisation that happens once: pthread_once, call_once of C11, and the
// guards of static locals. std::call_once is pthread_once underneath.
//
// The real pthread_once runs the initialiser, which takes no argument. Ours hands
// it a trampoline that finds the call it belongs to in a thread-local variable,
// runs the initialiser and, if that returns, leaves the order at the flag before
// the real function publishes that it is done. The trampoline takes its call off
// the variable before it runs the initialiser, so calls nest and none is left behind
// by a throw.
//
// An initialiser that throws or is cancelled comes before the next one, too. The
// C++ library is not ours to catch with, so the trampoline's frame names a
// personality routine of ours, which the unwinder calls when it passes the frame. One
// that jumps out leaves nothing.
//
// The guard functions belong to the C++ library. A program that links it
// statically takes ours from this library and has no others; then the guards are
// implemented here, in the layout that libstdc++ uses: byte 0 says done, bit 8
// pending, bit 16 somebody waits.
//
// The program tests byte 0 itself, by an atomic load that the compiler has hooked,
// before it calls the guard functions. So we set that byte by the hook of an
// atomic store, which leaves the order there; the real function then sets it
// again and wakes those who wait.
//
// Exceptions pass through frames of this file, which need unwind tables but no
// cleanup. Where the compiler may inline these functions into the program (link
// time optimisation) it must not conclude that they never throw: that build
// compiles this file with exceptions.
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <threads.h>

#include <climits>

#include "runtime/intercept/replace.h"
#include "runtime/on_sync.h"
#include "runtime/system.h"

extern "C" void __tsan_atomic8_store(volatile std::uint8_t* at, std::uint8_t value, int order);

namespace deadheat::runtime {
namespace {

struct OnceCall {
  void (*initialise)();
  Address flag;
  Address code;
  OnceCall* outer;
};

// Calls whose initialisers run, the innermost first; one that was jumped out of is below the stack.
struct RunningInitialiser {
  OnceCall call;
  RunningInitialiser* outer;
};
constinit thread_local RunningInitialiser* running __attribute__((tls_model("initial-exec"))) = nullptr;

// The innermost call whose real function has not begun its initialiser yet.
constinit thread_local OnceCall* waiting_call __attribute__((tls_model("initial-exec"))) = nullptr;

void leave_running() {
  const RunningInitialiser& left = *running;
  running = left.outer;
  if (is_observing()) on_once_completing(self(), left.call.flag, left.call.code);
}

[[gnu::noinline]] void run_initialiser() {
  __asm__ volatile(".cfi_personality 0x1b, deadheat_once_personality");
  RunningInitialiser mine{*waiting_call, running};
  waiting_call = mine.call.outer;
  while (mine.outer != nullptr && address_of(mine.outer) < address_of(&mine)) mine.outer = mine.outer->outer;
  running = &mine;
  // After those that failed.
  if (is_observing()) on_once_observed(self(), mine.call.flag, mine.call.code);
  mine.call.initialise();
  running = &mine;
  leave_running();
}

template <class RealOnce>
void run_once(const volatile void* flag, void (*initialise)(), Address code, RealOnce real_once) {
  OnceCall call{initialise, address_of(flag), code, waiting_call};
  waiting_call = &call;
  const bool has_succeeded = real_once(run_initialiser);
  waiting_call = call.outer;
  if (has_succeeded && is_observing()) on_once_observed(self(), call.flag, code);
}

constexpr std::uint32_t kGuardDone = 1;
constexpr std::uint32_t kGuardPending = 1U << 8;
constexpr std::uint32_t kGuardWaiting = 1U << 16;

using Guard = std::uint64_t;

std::uint32_t* word_of(Guard* guard) { return reinterpret_cast<std::uint32_t*>(guard); }

// Returns 1 if the caller has to initialise, 0 if it is done.
int acquire_guard(Guard* guard) {
  std::uint32_t* const word = word_of(guard);
  while (true) {
    std::uint32_t seen = 0;
    if (__atomic_compare_exchange_n(word, &seen, kGuardPending, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return 1;
    if ((seen & kGuardDone) != 0) return 0;
    const std::uint32_t waiting = seen | kGuardWaiting;
    if (seen != waiting &&
        !__atomic_compare_exchange_n(word, &seen, waiting, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
      continue;
    raw_call(SYS_futex, reinterpret_cast<long>(word), FUTEX_WAIT_PRIVATE, waiting);
  }
}

// Pairs with the acquire above and with the program's own test of byte 0.
void settle_guard(Guard* guard, std::uint32_t state) {
  std::uint32_t* const word = word_of(guard);
  if ((__atomic_exchange_n(word, state, __ATOMIC_ACQ_REL) & kGuardWaiting) != 0)
    raw_call(SYS_futex, reinterpret_cast<long>(word), FUTEX_WAKE_PRIVATE, INT_MAX);
}

void release_guard(Guard* guard) { settle_guard(guard, kGuardDone); }
void abort_guard(Guard* guard) { settle_guard(guard, 0); }

// The C++ library's function if it has one, ours otherwise.
template <class Function>
class GuardFunction {
 public:
  [[nodiscard]] Function* get(const char* name, Function* ours) {
    void* known = address_.load(std::memory_order_relaxed);
    if (known == nullptr) [[unlikely]] {
      known = find_real_or_null(name);
      if (known == nullptr) known = reinterpret_cast<void*>(ours);
      address_.store(known, std::memory_order_relaxed);  // all writers store the same
    }
    return reinterpret_cast<Function*>(known);
  }

 private:
  std::atomic<void*> address_{nullptr};
};

DEADHEAT_LOOKED_UP(guard_acquire, "__cxa_guard_acquire");
DEADHEAT_LOOKED_UP(guard_release, "__cxa_guard_release");
DEADHEAT_LOOKED_UP(guard_abort, "__cxa_guard_abort");
constinit GuardFunction<int(Guard*)> real_acquire;
constinit GuardFunction<void(Guard*)> real_release;
constinit GuardFunction<void(Guard*)> real_abort;

}  // namespace
}  // namespace deadheat::runtime

using namespace deadheat::runtime;

// As the unwinder calls it; the numbers are those of the ABI.
extern "C" __attribute__((visibility("hidden"), used)) int deadheat_once_personality(int /*version*/, int actions,
                                                                                     std::uint64_t /*of_whom*/,
                                                                                     void* /*exception*/,
                                                                                     void* /*frame*/) {
  constexpr int kCleanupPhase = 2;
  constexpr int kGoOn = 8;
  if ((actions & kCleanupPhase) != 0 && running != nullptr) leave_running();
  return kGoOn;
}

DEADHEAT_REPLACE(int, pthread_once, pthread_once_t* flag, void (*initialise)()) {
  DEADHEAT_ORIGINAL(pthread_once);
  if (!is_observing()) return original(flag, initialise);
  int result = 0;
  run_once(flag, initialise, DEADHEAT_CALLER,
           [&](void (*trampoline)()) { return (result = original(flag, trampoline)) == 0; });
  return result;
}

DEADHEAT_REPLACE(void, call_once, once_flag* flag, void (*initialise)()) {
  DEADHEAT_ORIGINAL(call_once);
  if (!is_observing()) return original(flag, initialise);
  run_once(flag, initialise, DEADHEAT_CALLER, [&](void (*trampoline)()) {
    original(flag, trampoline);
    return true;
  });
}

DEADHEAT_REPLACE(int, __cxa_guard_acquire, Guard* guard) {
  const int must_initialise = real_acquire.get(name_of_guard_acquire, acquire_guard)(guard);
  // Also when it is our turn: an initialiser that threw comes before us.
  if (is_observing()) on_once_observed(self(), address_of(guard), DEADHEAT_CALLER);
  return must_initialise;
}

DEADHEAT_REPLACE(void, __cxa_guard_release, Guard* guard) {
  if (is_observing()) {
    on_once_completing(self(), address_of(guard), DEADHEAT_CALLER);
    __tsan_atomic8_store(reinterpret_cast<std::uint8_t*>(guard), kGuardDone, __ATOMIC_RELEASE);
  }
  real_release.get(name_of_guard_release, release_guard)(guard);
}

DEADHEAT_REPLACE(void, __cxa_guard_abort, Guard* guard) {
  if (is_observing()) on_once_completing(self(), address_of(guard), DEADHEAT_CALLER);
  real_abort.get(name_of_guard_abort, abort_guard)(guard);
}
