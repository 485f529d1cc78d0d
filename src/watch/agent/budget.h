// SPDX-License-Identifier: Apache-2.0
// What the agent may spend. The agent's thread fills these accounts as time passes; handlers
// take from them without waiting, and go without a watch or a stall when they are empty.
// Neither much credit nor much debt is kept: after an idle phase the program must not be
// stopped all the time, nor be left alone for seconds after a busy one.
#pragma once

#include <atomic>
#include <cstdint>

namespace deadheat::watch {

class Account {
 public:
  // By the agent's thread.
  void earn(std::int64_t amount, std::int64_t most) {
    const std::int64_t after = amount_.fetch_add(amount, std::memory_order_relaxed) + amount;
    if (after > most) amount_.fetch_sub(after - most, std::memory_order_relaxed);
  }
  // Whatever it costs.
  void pay(std::int64_t amount) { amount_.fetch_sub(amount, std::memory_order_relaxed); }
  // Nothing if there is not that much.
  [[nodiscard]] bool take(std::int64_t amount) {
    std::int64_t seen = amount_.load(std::memory_order_relaxed);
    while (seen >= amount) {
      if (amount_.compare_exchange_weak(seen, seen - amount, std::memory_order_relaxed)) return true;
    }
    return false;
  }
  void limit_debt(std::int64_t most) {
    const std::int64_t seen = amount_.load(std::memory_order_relaxed);
    if (seen < -most) amount_.fetch_add(-most - seen, std::memory_order_relaxed);
  }
  void clear() { amount_.store(0, std::memory_order_relaxed); }
  [[nodiscard]] std::int64_t amount() const { return amount_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t> amount_{0};
};

// Given at the start: short runs are to be seen as well.
inline constexpr std::uint64_t kFirstCredit = 10'000'000;  // nanoseconds of processor time
inline constexpr std::uint64_t kFirstStalls = 8;

struct Budget {
  Account permits;  // watches that may be set now: never more than free slots
  Account watches;  // in billionths of a watch
  Account stalls;   // nanoseconds
  Account processor;
  std::atomic<std::int64_t> stall_cap{0};
};

extern Budget budget;

}  // namespace deadheat::watch
