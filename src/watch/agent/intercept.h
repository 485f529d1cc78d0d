// SPDX-License-Identifier: Apache-2.0
// Functions that stand in front of libc's. A replacement has a name of its own in C++, as
// headers declare many functions in forms that cannot be defined again, and the function's
// name as its symbol.
//
//   DEADHEAT_REPLACE(int, sched_yield) {
//     DEADHEAT_ORIGINAL(sched_yield);
//     return original();
//   }
//
// Originals are looked up when the agent starts, as some may be called in signal handlers, and
// at the first call by whoever calls before.
#pragma once

namespace deadheat::watch {

struct Original {
  const char* name;
  void* address;
};

// nullptr if there is none.
void* find_original(Original& original);
void find_all_originals();

}  // namespace deadheat::watch

#define DEADHEAT_REPLACE(result, name, ...)                                                             \
  extern "C" __attribute__((visibility("default"))) result replaced_##name(__VA_ARGS__) __asm__(#name); \
  extern "C" __attribute__((visibility("default"))) result replaced_##name(__VA_ARGS__)

#define DEADHEAT_ORIGINAL(name)                                                             \
  static constinit ::deadheat::watch::Original original_##name                              \
      __attribute__((section("deadheat_originals"), used, aligned(16))) = {#name, nullptr}; \
  void* const known_##name = __atomic_load_n(&original_##name.address, __ATOMIC_RELAXED);   \
  auto* const original = reinterpret_cast<decltype(&replaced_##name)>(                      \
      known_##name != nullptr ? known_##name : ::deadheat::watch::find_original(original_##name))
