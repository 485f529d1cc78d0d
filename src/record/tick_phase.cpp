// SPDX-License-Identifier: Apache-2.0
#include "record/tick_phase.h"

#include <sched.h>

#include <algorithm>
#include <ctime>

namespace deadheat::record {
namespace {

constexpr std::uint64_t kMostWait = 100'000'000;
// Sleeping ends late by some tens of microseconds.
constexpr std::uint64_t kAwake = 150'000;
// A timer meets the ticks if it is begun in the 20 microseconds before or the 15 after (measured: with a tick of 250 a
// second it makes 1000 interrupts of 1250 then). To begin one takes 4 to 30; if it takes longer, somebody else ran.
constexpr std::uint64_t kEarly = 8'000;
constexpr std::uint64_t kMostDelay = 24'000;
constexpr int kMostTries = 16;

std::uint64_t nanoseconds(const timespec& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

std::uint64_t monotonic_now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return nanoseconds(time);
}

// The coarse clock goes by ticks.
std::uint64_t tick_period() {
  timespec resolution{};
  clock_getres(CLOCK_MONOTONIC_COARSE, &resolution);
  return nanoseconds(resolution);
}

void wait_until(std::uint64_t moment) {
  if (moment > monotonic_now() + kAwake) {
    const std::uint64_t wake = moment - kAwake;
    const timespec time{static_cast<time_t>(wake / 1'000'000'000), static_cast<long>(wake % 1'000'000'000)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr);
  }
  while (monotonic_now() < moment) {
  }
}

// The caller runs there, if it may; as before when the object goes. To begin a timer on another processor takes an
// interrupt of that one, which is too late for the phase if it sleeps.
class OnProcessor {
 public:
  explicit OnProcessor(int processor) {
    if (processor >= CPU_SETSIZE || sched_getaffinity(0, sizeof before_, &before_) != 0) return;
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(static_cast<std::size_t>(processor), &only);
    is_moved_ = sched_setaffinity(0, sizeof only, &only) == 0;
  }
  OnProcessor(const OnProcessor&) = delete;
  OnProcessor& operator=(const OnProcessor&) = delete;
  ~OnProcessor() {
    if (is_moved_) sched_setaffinity(0, sizeof before_, &before_);
  }

 private:
  cpu_set_t before_{};
  bool is_moved_ = false;
};

}  // namespace

std::uint64_t begin_in_phase(std::uint64_t now, std::uint64_t period, std::uint64_t tick) {
  const std::uint64_t shorter = std::min(period, tick);
  if (shorter == 0 || std::max(period, tick) % shorter != 0) return now;
  return (now + shorter - 1) / shorter * shorter;
}

namespace {

Status turn_on_there(const PerfRing& timer, std::uint64_t period, std::uint64_t tick, std::uint64_t latest) {
  const OnProcessor moved(timer.processor());
  for (int tries = 0; tries < kMostTries; ++tries) {
    const std::uint64_t now = monotonic_now() + kEarly;
    if (now + std::min(period, tick) > latest) break;
    const std::uint64_t begin = begin_in_phase(now, period, tick);
    wait_until(begin - kEarly);
    if (const Status status = timer.turn_on(); !status.ok()) return status;
    if (begin == now || monotonic_now() < begin - kEarly + kMostDelay) return {};
    timer.turn_off(period);
  }
  return timer.turn_on();
}

}  // namespace

Status turn_on_in_phase(const std::vector<PerfRing>& timers, std::uint64_t period) {
  const std::uint64_t tick = tick_period();
  const std::uint64_t latest = monotonic_now() + kMostWait;
  for (const PerfRing& timer : timers) {
    if (const Status status = turn_on_there(timer, period, tick, latest); !status.ok()) return status;
  }
  return {};
}

}  // namespace deadheat::record
