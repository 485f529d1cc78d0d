// SPDX-License-Identifier: Apache-2.0
// The system below libc: calls that nobody intercepts, and the few lines the
// runtime ever prints itself (base/raw_call.h, spin_lock.h and own_mappings.h have the rest).
// Everything here works before libc is initialised, in signal handlers and after exit
// handlers have run.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/own_mappings.h"
#include "base/raw_call.h"
#include "base/spin_lock.h"
#include "model/identity.h"

namespace deadheat::runtime {

// For files that say `using namespace deadheat::runtime`.
using deadheat::raw_call;
using deadheat::read_clock;

// As the system calls of these names, but MAP_FAILED / -errno are the only errors;
// errno is not touched.
void* raw_mmap(void* address, std::size_t bytes, int protection, int flags);
// Address space that is ours, in bytes.
[[nodiscard]] std::uint64_t mapped_by_us();
int raw_munmap(void* address, std::size_t bytes);
int raw_madvise(void* address, std::size_t bytes, int advice);

// The processor's counter. It ends a process that confines itself strictly: that one's threads count their questions.
inline bool ticks_are_forbidden = false;
[[nodiscard]] inline std::uint64_t read_ticks() {
  static constinit std::uint64_t questions = 0;
  if (!ticks_are_forbidden) [[likely]]
    return __builtin_ia32_rdtsc();
  return __atomic_add_fetch(&questions, 1, __ATOMIC_RELAXED) + (std::uint64_t{1} << 62);
}

// "deadheat: TEXT\n" to standard error, if there is one.
void say(const char* text);
void say(const char* text, const char* more);
// The last resort: says it and ends the process with status 1.
[[noreturn]] void die(const char* text);

// On a machine whose processors are all busy a thread that wakes up waits for milliseconds, unless it asks for short
// turns. That is no priority: its share stays what it was. Systems before Linux 6.12 ignore it.
void ask_for_short_turns();

// strlen(3) is intercepted.
[[nodiscard]] inline std::uint32_t length_of(const char* text) {
  std::uint32_t length = 0;
  while (text[length] != 0) ++length;
  return length;
}

}  // namespace deadheat::runtime
