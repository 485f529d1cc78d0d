// SPDX-License-Identifier: Apache-2.0
// The system below libc, for code that runs in the handler of SIGTRAP and in a thread
// that libc does not know: neither may call libc or touch errno.
#pragma once

#include <cstddef>
#include <cstdint>

#include "model/identity.h"

namespace deadheat::watch {

inline constexpr std::uint64_t kMicrosecond = 1000;
inline constexpr std::uint64_t kMillisecond = 1000 * kMicrosecond;
inline constexpr std::uint64_t kSecond = 1000 * kMillisecond;

// As the system call: the result or -errno.
inline long raw_call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) {
  long result = 0;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}

inline long as_argument(const volatile void* pointer) { return reinterpret_cast<long>(pointer); }

// Zeroed memory that is never given back; nullptr if there is none.
[[nodiscard]] void* map_memory(std::size_t bytes);

// In nanoseconds; 0 if there is no such clock.
[[nodiscard]] std::uint64_t read_clock(long clock);

// "deadheat: TEXT\n" to standard error, if there is one.
void say(const char* text, const char* more = "");

[[nodiscard]] std::size_t length_of(const char* text);
[[nodiscard]] bool same_text(const char* one, const char* other);
// Cuts what does not fit; ends with a 0. Returns the length.
std::size_t copy_text(char* to, std::size_t capacity, const char* from);
void copy_bytes(void* to, const void* from, std::size_t bytes);

// The bytes at an address of the program, 0 for what cannot be read. By a system call: what the
// agent reads itself could fault, and trips the watches of its thread.
[[nodiscard]] std::uint64_t peek_memory(Address address, std::size_t bytes);

// Sleeps while `word` is `value`, at most so long.
void wait_while(const volatile void* word, std::uint32_t value, std::uint64_t nanoseconds);
void wake_waiters(const volatile void* word);

// All signals are blocked during its life. Only code that is never patched may run
// meanwhile: an int3 would end the process.
class SignalsBlocked {
 public:
  SignalsBlocked();
  ~SignalsBlocked();
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  std::uint64_t before_ = 0;
};

// Calls visit(mapping, context) for each line of /proc/self/maps, lowest first, until it
// returns false. Returns false when it cannot be read.
struct Mapping {
  Address begin = 0;
  Address end = 0;
  bool is_executable = false;
  const char* path = "";  // valid during the call
};
bool for_each_mapping(bool (*visit)(const Mapping& mapping, void* context), void* context);

// For short sections with signals blocked.
class SpinLock {
 public:
  void lock() {
    while (__atomic_exchange_n(&held_, 1U, __ATOMIC_ACQUIRE) != 0) pause();  // pairs with unlock()
  }
  void unlock() { __atomic_store_n(&held_, 0U, __ATOMIC_RELEASE); }  // pairs with lock()
  // In the child of a fork, where the holder does not exist.
  void reset() { __atomic_store_n(&held_, 0U, __ATOMIC_RELAXED); }

 private:
  static void pause();
  std::uint32_t held_ = 0;
};

class SpinHolder {
 public:
  explicit SpinHolder(SpinLock& lock) : lock_(lock) { lock_.lock(); }
  ~SpinHolder() { lock_.unlock(); }
  SpinHolder(const SpinHolder&) = delete;
  SpinHolder& operator=(const SpinHolder&) = delete;

 private:
  SpinLock& lock_;
};

}  // namespace deadheat::watch
