// SPDX-License-Identifier: Apache-2.0
// What the agent has done so far; see Progress in watch_packet.h.
#pragma once

#include <atomic>
#include <cstdint>

namespace deadheat::watch {

class Counter {
 public:
  void add(std::uint64_t more = 1) { value_.fetch_add(more, std::memory_order_relaxed); }
  void raise(std::uint64_t value) {
    std::uint64_t seen = value_.load(std::memory_order_relaxed);
    while (seen < value && !value_.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
    }
  }
  [[nodiscard]] std::uint64_t get() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

struct Counters {
  Counter sites_covered;
  Counter hits;
  Counter watches;
  Counter trips;
  Counter suspects;
  Counter stalls;
  Counter confirmed;
  Counter stalled_ns;
  Counter longest_stall_ns;
  Counter handler_ns;
  Counter control_ns;
  Counter arm_ns;   // of threads that others set breakpoints in, by an estimate
  Counter slow_ns;  // of the program, by breakpoints that are enabled, by an estimate: see control.cpp
  Counter watched_ns;
  Counter processor_ns;  // of the process
  Counter lost;
  // Not in the packet: told in a message at the end if they are not 0.
  Counter atomic_trips;  // by an instruction that is atomic
  Counter agent_trips;   // by the agent itself
  Counter late_trips;    // after the watch, or with SIGTRAP blocked
  Counter foreign_hits;  // in threads and processes that are not watched
};

extern Counters counters;

}  // namespace deadheat::watch
