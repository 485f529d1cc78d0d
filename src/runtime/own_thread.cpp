// SPDX-License-Identifier: Apache-2.0
#include "runtime/own_thread.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

#include <atomic>
#include <cstdint>

#include "runtime/intercept/interceptor.h"
#include "runtime/intercept/preparation.h"
#include "runtime/system.h"
#include "runtime/thread_state.h"

namespace deadheat::runtime {
namespace {

std::atomic<void (*)()> own_work{nullptr};
std::atomic<long> own_number{0};

void* run_own_thread(void* /*argument*/) {
  ++current.inside;  // for ever: nothing it does is the program's
  own_number.store(raw_call(SYS_gettid), std::memory_order_relaxed);
  raw_call(SYS_prctl, PR_SET_NAME, as_argument("deadheat"));
  ask_for_short_turns();
  own_work.load(std::memory_order_relaxed)();
  become_last_thread();
  return nullptr;
}

}  // namespace

bool start_own_thread(void (*work)()) {
  using Create = int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static constinit RealFunction<Create> real;
  constexpr std::size_t kStack = 256 * 1024;
  own_work.store(work, std::memory_order_relaxed);
  // Signals of the program are for the program's threads.
  std::uint64_t all = ~std::uint64_t{0};
  std::uint64_t before = 0;
  raw_call(SYS_rt_sigprocmask, SIG_SETMASK, as_argument(&all), as_argument(&before), sizeof all);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStack);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_t thread{};
  const int result = real.get("pthread_create")(&thread, &attributes, run_own_thread, nullptr);
  pthread_attr_destroy(&attributes);
  raw_call(SYS_rt_sigprocmask, SIG_SETMASK, as_argument(&before), 0, sizeof before);
  return result == 0;
}

void wait_for_own_thread() {
  constexpr int kTries = 1000;
  for (int tries = 0; tries < kTries; ++tries) {
    const long number = own_number.load(std::memory_order_relaxed);
    if (number != 0 && raw_call(SYS_tgkill, raw_call(SYS_getpid), number, 0) == -ESRCH) return;
    const timespec millisecond{0, 1'000'000};
    raw_call(SYS_nanosleep, as_argument(&millisecond), 0);
  }
}

}  // namespace deadheat::runtime
