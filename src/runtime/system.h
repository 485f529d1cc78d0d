// SPDX-License-Identifier: Apache-2.0
// The system below libc: calls that nobody intercepts, and the few lines the
// runtime ever prints itself. Everything here works before libc is initialised,
// in signal handlers and after exit handlers have run.
#pragma once

#include <cstddef>
#include <cstdint>

#include "model/identity.h"

namespace deadheat::runtime {

// As the system calls of these names, but MAP_FAILED / -errno are the only errors;
// errno is not touched.
void* raw_mmap(void* address, std::size_t bytes, int protection, int flags);
int raw_munmap(void* address, std::size_t bytes);
int raw_madvise(void* address, std::size_t bytes, int advice);
long raw_call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0);

// The time of one of the system's clocks, in nanoseconds; 0 if there is no such clock.
[[nodiscard]] std::uint64_t read_clock(long clock);

// "deadheat: TEXT\n" to standard error, if there is one.
void say(const char* text);
void say(const char* text, const char* more);
// The last resort: says it and ends the process with status 1.
[[noreturn]] void die(const char* text);

// strlen(3) is intercepted.
[[nodiscard]] inline std::uint32_t length_of(const char* text) {
  std::uint32_t length = 0;
  while (text[length] != 0) ++length;
  return length;
}

// The lines of /proc/self/maps: calls visit(line, context) for each mapping,
// lowest first, until it returns false. Returns false when it cannot be read.
struct Mapping {
  Address begin = 0;
  Address end = 0;
  bool is_readable = false;
  bool is_writable = false;
  bool is_executable = false;
  const char* path = "";  // "", "[heap]", "[stack]" or a file; valid during the call
};
bool for_each_mapping(bool (*visit)(const Mapping& mapping, void* context), void* context);

// A lock for short sections inside a RuntimeScope: spins, then yields. Not
// recursive. Taken by fork in the order of src/runtime/README.md.
class SpinLock {
 public:
  void lock();
  void unlock() { __atomic_store_n(&held_, 0U, __ATOMIC_RELEASE); }  // pairs with lock()
  // In the child of a fork, where the holder does not exist any more.
  void reset() { __atomic_store_n(&held_, 0U, __ATOMIC_RELAXED); }

 private:
  void lock_slow();
  std::uint32_t held_ = 0;
};

inline void SpinLock::lock() {
  if (__atomic_exchange_n(&held_, 1U, __ATOMIC_ACQUIRE) != 0) [[unlikely]]  // pairs with unlock()
    lock_slow();
}

class SpinHolder {
 public:
  explicit SpinHolder(SpinLock& lock) : lock_(lock) { lock_.lock(); }
  ~SpinHolder() { lock_.unlock(); }
  SpinHolder(const SpinHolder&) = delete;
  SpinHolder& operator=(const SpinHolder&) = delete;

 private:
  SpinLock& lock_;
};

}  // namespace deadheat::runtime
