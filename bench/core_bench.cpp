// SPDX-License-Identifier: Apache-2.0
// What single operations of the core cost: the rules on a hot cell, and clock
// operations by number of threads.
#include <benchmark/benchmark.h>

#include <vector>

#include "core/detector.h"
#include "core/sync_clock.h"
#include "trace/trace_generator.h"

namespace deadheat {
namespace {

constexpr ThreadId kMain{0};
constexpr ThreadId kWorker{1};

void feed(benchmark::State& state, const std::vector<Event>& setup, const std::vector<Event>& repeated) {
  const auto detector = make_detector(DetectorKind::kFastTrack);
  detector->process(setup);
  for (auto _ : state) detector->process(repeated);
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * repeated.size()));
}

void read_same_epoch(benchmark::State& state) {
  feed(state, {}, std::vector<Event>(1024, events::read(kMain, 0x1000, 8)));
}
BENCHMARK(read_same_epoch);

void write_same_epoch(benchmark::State& state) {
  feed(state, {}, std::vector<Event>(1024, events::write(kMain, 0x1000, 8)));
}
BENCHMARK(write_same_epoch);

void read_exclusive(benchmark::State& state) {
  std::vector<Event> repeated;
  for (int count = 0; count < 512; ++count) {
    repeated.push_back(events::read(kMain, 0x1000, 8));
    repeated.push_back(events::on_sync(EventKind::kSemaphorePost, kMain, SyncId{1}));
  }
  feed(state, {}, repeated);
}
BENCHMARK(read_exclusive);

void two_ints_in_a_word(benchmark::State& state) {
  std::vector<Event> repeated;
  for (int count = 0; count < 512; ++count) {
    repeated.push_back(events::write(kMain, 0x1000, 4));
    repeated.push_back(events::write(kWorker, 0x1004, 4));
  }
  feed(state, {events::on_thread(EventKind::kFork, kMain, kWorker)}, repeated);
}
BENCHMARK(two_ints_in_a_word);

void clock_join(benchmark::State& state) {
  VectorClock one;
  VectorClock other;
  for (std::uint32_t slot = 0; slot < state.range(0); ++slot) {
    one.set(ThreadSlot{slot}, slot);
    other.set(ThreadSlot{slot}, 1000 - slot);
  }
  for (auto _ : state) {
    one.join(other);
    benchmark::DoNotOptimize(one);
  }
}
BENCHMARK(clock_join)->Arg(2)->Arg(8)->Arg(64)->Arg(512);

void lock_hand_over(benchmark::State& state) {
  const auto threads = static_cast<std::uint32_t>(state.range(0));
  std::vector<Event> setup;
  std::vector<Event> repeated;
  for (std::uint32_t thread = 1; thread < threads; ++thread) {
    setup.push_back(events::on_thread(EventKind::kFork, kMain, ThreadId{thread}));
  }
  for (std::uint32_t thread = 0; thread < threads; ++thread) {
    repeated.push_back(events::acquire(ThreadId{thread}, SyncId{1}));
    repeated.push_back(events::release(ThreadId{thread}, SyncId{1}));
  }
  feed(state, setup, repeated);
}
BENCHMARK(lock_hand_over)->Arg(2)->Arg(8)->Arg(64)->Arg(512);

}  // namespace
}  // namespace deadheat

BENCHMARK_MAIN();
