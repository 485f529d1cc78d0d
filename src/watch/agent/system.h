// SPDX-License-Identifier: Apache-2.0
// The system below libc, for code that runs in the handler of SIGTRAP and in a thread
// that libc does not know: neither may call libc or touch errno.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/own_mappings.h"
#include "base/raw_call.h"
#include "base/spin_lock.h"
#include "model/identity.h"

namespace deadheat::watch {

// For files that say `using namespace deadheat::watch`.
using deadheat::raw_call;
using deadheat::read_clock;

inline constexpr std::uint64_t kMicrosecond = 1000;
inline constexpr std::uint64_t kMillisecond = 1000 * kMicrosecond;
inline constexpr std::uint64_t kSecond = 1000 * kMillisecond;

// Zeroed memory that is never given back; nullptr if there is none.
[[nodiscard]] void* map_memory(std::size_t bytes);

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
// The same for more bytes; returns how many could be read, from the first on.
std::size_t peek_bytes(Address address, void* to, std::size_t bytes);

// Sleeps while `word` is `value`, at most so long.
void wait_while(const volatile void* word, std::uint32_t value, std::uint64_t nanoseconds);
void wake_waiters(const volatile void* word);

// Threads stand until we have run: a short slice makes us the next one to run on a busy machine (since Linux 6.12;
// before it this does nothing). Our share of the processor stays the same.
void ask_to_run_soon();

}  // namespace deadheat::watch
