// SPDX-License-Identifier: Apache-2.0
// Words of the program's memory that the kernel stores into, and the program reads by atomic operations.
#pragma once

#include "model/identity.h"

extern "C" {
// The hooks for the program's own atomic operations (abi_atomic.cpp).
std::uint32_t __tsan_atomic32_fetch_add(volatile std::uint32_t* at, std::uint32_t amount, int order);
std::uint32_t __tsan_atomic32_load(const volatile std::uint32_t* at, int order);
}

namespace deadheat::runtime {

// Before a call after which the kernel may store there: who reads the word then has what the thread did before. The
// value stays as it is, also if the kernel is about to change it.
inline void before_kernel_stores(Address word) {
  __tsan_atomic32_fetch_add(reinterpret_cast<volatile std::uint32_t*>(word), 0, __ATOMIC_RELEASE);
}
// After a call in which the kernel has read the word for the thread.
inline void after_kernel_loads(Address word) {
  __tsan_atomic32_load(reinterpret_cast<const volatile std::uint32_t*>(word), __ATOMIC_ACQUIRE);
}

}  // namespace deadheat::runtime
