// SPDX-License-Identifier: Apache-2.0
// Functions that stand in front of libc's, for agents that are preloaded. A replacement has a
// name of its own in C++, as headers declare many functions in forms that cannot be defined
// again, and the function's name as its symbol.
//
//   DEADHEAT_REPLACE(int, sched_yield) {
//     DEADHEAT_ORIGINAL(sched_yield);
//     return original();
//   }
//
// Originals are looked up when the agent starts, as some may be called in signal handlers, and
// at the first call by whoever calls before.
#pragma once

#include <dlfcn.h>

namespace deadheat {

struct Original {
  const char* name;
  void* address;
};

}  // namespace deadheat

// The linker's names for the ends of the section that DEADHEAT_ORIGINAL fills.
// NOLINTBEGIN(readability-identifier-naming)
extern "C" __attribute__((visibility("hidden"))) deadheat::Original __start_deadheat_originals[];
extern "C" __attribute__((visibility("hidden"))) deadheat::Original __stop_deadheat_originals[];
// NOLINTEND(readability-identifier-naming)

namespace deadheat {

// Conditions exist twice in libc, for programs from before 2003.
[[nodiscard]] inline bool is_condition(const char* name) {
  const char* const prefix = "pthread_cond_";
  for (int at = 0; prefix[at] != 0; ++at) {
    if (name[at] != prefix[at]) return false;
  }
  return true;
}

// nullptr if there is none.
[[gnu::noinline]] inline void* find_original(Original& original) {
  void* address = nullptr;
  if (is_condition(original.name)) address = dlvsym(RTLD_NEXT, original.name, "GLIBC_2.3.2");
  if (address == nullptr) address = dlsym(RTLD_NEXT, original.name);
  __atomic_store_n(&original.address, address, __ATOMIC_RELAXED);  // all writers store the same
  return address;
}

inline void find_all_originals() {
  for (Original* at = __start_deadheat_originals; at < __stop_deadheat_originals; ++at) {
    if (at->name != nullptr && at->address == nullptr) find_original(*at);
  }
}

}  // namespace deadheat

#define DEADHEAT_REPLACE(result, name, ...)                                                             \
  extern "C" __attribute__((visibility("default"))) result replaced_##name(__VA_ARGS__) __asm__(#name); \
  extern "C" __attribute__((visibility("default"))) result replaced_##name(__VA_ARGS__)

#define DEADHEAT_ORIGINAL(name)                                                             \
  static constinit ::deadheat::Original original_##name                                     \
      __attribute__((section("deadheat_originals"), used, aligned(16))) = {#name, nullptr}; \
  void* const known_##name = __atomic_load_n(&original_##name.address, __ATOMIC_RELAXED);   \
  auto* const original = reinterpret_cast<decltype(&replaced_##name)>(                      \
      known_##name != nullptr ? known_##name : ::deadheat::find_original(original_##name))

// The place of the call.
#define DEADHEAT_CALLER __builtin_return_address(0)
