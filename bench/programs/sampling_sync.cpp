// SPDX-License-Identifier: Apache-2.0
// What one lock and unlock costs in a program of many threads.
//
//   sampling_sync own|handed THREADS
//
// prints the median over all lock-and-unlocks, in nanoseconds. `own`: every two threads
// have a mutex and take it a hundred times each, in turn; nobody else wants it.
// `handed`: one mutex goes from thread to thread. All threads live until the end
// and have met all others through a mutex before, so their clocks have a component
// for each. Only one thread is awake at a time, in an order that the detector cannot
// see (order.h), and only the lock and unlock is timed; the median leaves out those
// that were interrupted.
#include <x86intrin.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

#include "support/order.h"

namespace {

constexpr int kTurns = 8000;  // of all threads together, about
constexpr int kInARow = 100;  // of a mutex of one's own, in each turn
constexpr int kMeetings = 3;  // rounds, until everybody has heard of everybody

// The turn that a thread may take.
struct alignas(64) Place {
  int turn = 0;
};

struct Bench {
  Bench(int thread_count, bool is_handed)
      : threads(thread_count),
        is_handed(is_handed),
        repetitions(std::max(4, kTurns / thread_count)),
        own(static_cast<std::size_t>(thread_count + 1) / 2),
        places(static_cast<std::size_t>(thread_count)),
        ticks(static_cast<std::size_t>(thread_count) * static_cast<std::size_t>(repetitions)) {}

  int threads;
  bool is_handed;
  int repetitions;  // of each thread
  std::mutex common;
  std::vector<std::mutex> own;
  std::vector<Place> places;
  std::vector<double> ticks;  // of one lock and unlock; of a thread's mean, if its mutex is its own
};

double time_each(std::mutex& mutex, int count) {
  unsigned processor = 0;
  const std::uint64_t before = __rdtscp(&processor);
  for (int at = 0; at < count; ++at) {
    mutex.lock();
    mutex.unlock();
  }
  return static_cast<double>(__rdtscp(&processor) - before) / count;
}

// The turns of one thread; it wakes nobody but who is next.
class Turns {
 public:
  Turns(Bench& bench, int index)
      : own_(bench.places[static_cast<std::size_t>(index)].turn),
        next_(bench.places[static_cast<std::size_t>(index + 1) % bench.places.size()].turn),
        is_last_(index + 1 == bench.threads) {}

  template <class Act>
  void take(const Act& act) {
    order_await_at(&own_, turn_);
    act();
    order_reach_at(&next_, is_last_ ? turn_ + 1 : turn_);
    ++turn_;
  }

 private:
  int& own_;
  int& next_;
  bool is_last_;
  int turn_ = 1;
};

void run_thread(Bench& bench, int index) {
  Turns turns(bench, index);
  for (int round = 0; round < kMeetings; ++round) turns.take([&] { time_each(bench.common, 1); });
  double* ticks = &bench.ticks[static_cast<std::size_t>(index) * static_cast<std::size_t>(bench.repetitions)];
  for (int at = 0; at < bench.repetitions; ++at) {
    turns.take([&] {
      ticks[at] = bench.is_handed ? time_each(bench.common, 1)
                                  : time_each(bench.own[static_cast<std::size_t>(index) / 2], kInARow);
    });
  }
  turns.take([] {});
}

double nanoseconds_per_tick() {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  const std::uint64_t first = __rdtsc();
  while (Clock::now() - start < std::chrono::milliseconds(20)) {
  }
  const std::uint64_t ticks = __rdtsc() - first;
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count() / static_cast<double>(ticks);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view how = argc == 3 ? argv[1] : "";
  const int threads = argc == 3 ? std::atoi(argv[2]) : 0;
  if ((how != "own" && how != "handed") || threads < 1) {
    std::fprintf(stderr, "usage: %s own|handed THREADS\n", argv[0]);
    return 2;
  }
  Bench bench(threads, how == "handed");
  bench.places[0].turn = 1;
  std::vector<std::thread> running;
  for (int index = 0; index < threads; ++index) running.emplace_back([&bench, index] { run_thread(bench, index); });
  for (std::thread& thread : running) thread.join();
  const auto middle = bench.ticks.begin() + static_cast<std::ptrdiff_t>(bench.ticks.size() / 2);
  std::nth_element(bench.ticks.begin(), middle, bench.ticks.end());
  std::printf("%.1f\n", *middle * nanoseconds_per_tick());
  return 0;
}
