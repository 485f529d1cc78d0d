// SPDX-License-Identifier: Apache-2.0
// Functions that stand in front of libc's. A replacement has a name of its own in C++, as
// headers declare many functions in forms that cannot be defined again, and the function's
// name as its symbol. Originals are looked up when the agent starts, and at the first call by
// whoever calls before.
#pragma once

namespace deadheat::record {

struct Original {
  const char* name;
  void* address;
};

// nullptr if there is none.
void* find_original(Original& original);
void find_all_originals();

}  // namespace deadheat::record

#define DEADHEAT_REPLACE(result, name, ...)                                                             \
  extern "C" __attribute__((visibility("default"))) result replaced_##name(__VA_ARGS__) __asm__(#name); \
  extern "C" __attribute__((visibility("default"))) result replaced_##name(__VA_ARGS__)

#define DEADHEAT_ORIGINAL(name)                                                             \
  static constinit ::deadheat::record::Original original_##name                             \
      __attribute__((section("deadheat_originals"), used, aligned(16))) = {#name, nullptr}; \
  void* const known_##name = __atomic_load_n(&original_##name.address, __ATOMIC_RELAXED);   \
  auto* const original = reinterpret_cast<decltype(&replaced_##name)>(                      \
      known_##name != nullptr ? known_##name : ::deadheat::record::find_original(original_##name))

// The place of the call, for the log.
#define DEADHEAT_CALLER __builtin_return_address(0)
