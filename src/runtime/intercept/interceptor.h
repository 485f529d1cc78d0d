// SPDX-License-Identifier: Apache-2.0
// How a function of libc is intercepted.
//
//   DEADHEAT_INTERCEPT(int, pthread_mutex_lock, pthread_mutex_t* mutex) {
//     DEADHEAT_REAL(pthread_mutex_lock);
//     const int result = real(mutex);
//     if (is_observing() && result == 0) on_lock_acquired(self(), address_of(mutex), ..., DEADHEAT_CALLER);
//     return result;
//   }
//
// The definition has default visibility and the function's own name, so the
// dynamic linker prefers it to libc's, in all four forms the runtime is linked
// (DT_NEEDED, LD_PRELOAD, static, bitcode). The real function is looked up once,
// by dlsym(RTLD_NEXT); until the runtime is ready, and inside the runtime,
// interceptors do nothing but call it.
#pragma once

#include <atomic>

#include "model/identity.h"
#include "runtime/thread_state.h"

namespace deadheat::runtime {

// The next definition of the symbol after ours; ends the process with one line
// if there is none, which means that libc lacks a function its headers have.
[[nodiscard]] void* find_real(const char* name);
// The same for one version of the symbol, e.g. "GLIBC_2.3.2"; falls back to any.
[[nodiscard]] void* find_real(const char* name, const char* version);
// nullptr if there is none.
[[nodiscard]] void* find_real_or_null(const char* name);

// Looked up at the first call; any thread, also before constructors have run.
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

[[nodiscard]] inline Address address_of(const volatile void* pointer) { return reinterpret_cast<Address>(pointer); }

}  // namespace deadheat::runtime

#define DEADHEAT_INTERCEPT(result, name, ...) extern "C" __attribute__((visibility("default"))) result name(__VA_ARGS__)

// Declares `real`, a pointer to the intercepted function's original.
#define DEADHEAT_REAL(name)                                                         \
  static constinit ::deadheat::runtime::RealFunction<decltype(::name)> real_##name; \
  auto* const real = real_##name.get(#name)

#define DEADHEAT_CALLER (reinterpret_cast<::deadheat::Address>(__builtin_return_address(0)))
