// SPDX-License-Identifier: Apache-2.0
// What all entry points share: how the real function behind an intercepted one is
// found, and whether the thread is to be observed.
//
// An entry point has default visibility and the function's own name, so the
// dynamic linker prefers it to libc's, however the runtime is linked (DT_NEEDED,
// LD_PRELOAD, static). Functions that only our runtime has (annotations, hooks)
// are defined by DEADHEAT_INTERCEPT; functions that libc has as well by
// DEADHEAT_REPLACE (replace.h), because libc's headers stand in the way. The real
// function is looked up at start, by dlsym(RTLD_NEXT); until the runtime is ready, and
// inside the runtime, interceptors do nothing but call it.
#pragma once

#include <atomic>

#include "model/identity.h"
#include "runtime/thread_state.h"

namespace deadheat::runtime {

// The next definition of the symbol after ours; ends the process with one line
// if there is none, which means that libc lacks a function its headers have. The
// name of a version may follow: "pthread_cond_wait@GLIBC_2.3.2"; another version does
// if there is none of that name. Each name is to be listed by DEADHEAT_LOOKED_UP.
[[nodiscard]] void* find_real(const char* name);
// nullptr if there is none.
[[nodiscard]] void* find_real_or_null(const char* name);
// nullptr also for a name that is not listed. Asks nobody.
[[nodiscard]] void* find_listed_real(const char* name);
// Looks up all functions that are listed, so that find_real() will not ask the dynamic linker,
// and take its lock, for any of them. Once, at start.
void find_all_real();
// The same for those that were missing. After a library was loaded.
void find_missing_real();

// Asks for it at the first call; any thread, also before constructors have run.
template <class Function>
class RealFunction {
 public:
  [[nodiscard]] Function* get(const char* name) {
    void* known = address_.load(std::memory_order_relaxed);
    if (known == nullptr) [[unlikely]] {
      known = find_real(name);
      address_.store(known, std::memory_order_relaxed);  // all writers store the same
    }
    return reinterpret_cast<Function*>(known);
  }

 private:
  std::atomic<void*> address_{nullptr};
};

// The runtime is set up, and this thread is not inside it.
[[nodiscard]] inline bool is_observing() {
  return runtime_is_ready.load(std::memory_order_relaxed) && current.inside == 0;
}

// The same where only accesses to memory are of interest.
[[nodiscard]] inline bool is_observing_accesses() {
  return is_observing() && __atomic_load_n(&current.runs_unchecked, __ATOMIC_RELAXED) == 0;
}

[[nodiscard]] inline Address address_of(const volatile void* pointer) { return reinterpret_cast<Address>(pointer); }

}  // namespace deadheat::runtime

#define DEADHEAT_INTERCEPT(result, name, ...) extern "C" __attribute__((visibility("default"))) result name(__VA_ARGS__)

// A function that the runtimes of other sanitizers have, too (-fsanitize=undefined, fuzzer, xray): theirs is taken.
#define DEADHEAT_COMMON_HOOK(result, name, ...) \
  extern "C" __attribute__((visibility("default"), weak)) result name(__VA_ARGS__)

// Puts a name on the list of functions that are looked up at start. `tag` is a word of the caller's own.
#define DEADHEAT_LOOKED_UP(tag, name) \
  static constexpr char name_of_##tag[] __attribute__((section("deadheat_originals"), used)) = name

#define DEADHEAT_CALLER (reinterpret_cast<::deadheat::Address>(__builtin_return_address(0)))
