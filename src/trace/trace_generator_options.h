// SPDX-License-Identifier: Apache-2.0
// What a generated trace shall look like, and named choices for tests and
// benchmarks. Two equal sets of options give the same trace everywhere.
#pragma once

#include <cstdint>

namespace deadheat {

// How often a step of each family is tried, relative to the sum. A family of
// weight 0 does not occur (what is open at the end is still closed).
struct EventMix {
  std::uint32_t access = 100;
  std::uint32_t atomic = 0;
  std::uint32_t fence = 0;
  std::uint32_t lock = 10;
  std::uint32_t condition = 0;
  std::uint32_t barrier = 0;
  std::uint32_t semaphore = 0;
  std::uint32_t once = 0;
  std::uint32_t thread = 0;  // fork, join, detach, exit, root; the first forks need no weight
  std::uint32_t memory = 0;  // alloc, free
  std::uint32_t call = 0;
  std::uint32_t sampling = 0;
  std::uint32_t annotation = 0;  // happens-before tags, ignore regions, benign ranges
  std::uint32_t destroy = 0;     // SyncDestroy
};

// Which discipline keeps the plain variables free of races, relative to the
// sum; trace_generator_permissions.h explains each.
struct GuardMix {
  std::uint32_t lock = 1;       // accessed while a certain lock is held
  std::uint32_t owned = 1;      // accessed by one thread
  std::uint32_t read_only = 0;  // written before the first fork only
  std::uint32_t passed = 0;     // handed from thread to thread by synchronisation
};

enum class AccessSizes : std::uint8_t {
  kUniform8,  // aligned words
  kMixed,     // 1 to 33 bytes, odd sizes and unaligned ones included
};

enum class AddressPattern : std::uint8_t {
  kRandom,
  kSequential,  // runs over neighbouring elements, as array loops make
};

// Whether families of synchronisation objects use the same numbers.
enum class SyncNumbers : std::uint8_t { kDistinct, kOverlapping };

struct GeneratorOptions {
  std::uint64_t seed = 1;
  // The trace ends at the first moment after this many events at which every
  // lock is released, every call returned from and every thread gone.
  std::uint64_t events = 1000;
  std::uint32_t threads = 4;  // at once; at least 1
  std::uint32_t locks = 4;
  std::uint32_t variables = 64;    // plain variables of 8 bytes, or about that when sizes are mixed
  std::uint32_t atomics = 2;       // atomic variables that pass messages
  std::uint32_t blocks = 4;        // heap blocks alive at once
  std::uint32_t sync_objects = 2;  // of each other family: conditions, barriers, semaphores, ...
  std::uint32_t sites = 256;

  // The probability that an access ignores its variable's guard. At 0 the
  // trace has no race.
  double race_density = 0;
  double read_fraction = 0.7;
  double switch_rate = 0.1;            // that the next step is another thread's
  double early_fork_fraction = 1.0;    // of the threads that the first thread forks before anything else
  double shared_lock_fraction = 0;     // of the locks: read-write locks
  double recursive_lock_fraction = 0;  // of the locks: recursive
  double try_fraction = 0;             // of the acquires

  EventMix mix;
  GuardMix guards;
  AccessSizes sizes = AccessSizes::kUniform8;
  AddressPattern pattern = AddressPattern::kRandom;
  SyncNumbers sync_numbers = SyncNumbers::kDistinct;
};

// A short trace that puts many kinds of interaction on few bytes: 5 to 80
// events plus the closing ones, 2 to 5 threads at once, 1 to 4 locks, 2 to 5
// neighbouring variables. The seed also picks the race density (0 for about a
// third of the seeds) and the theme: all kinds, atomics and fences, locks only,
// read-write locks, barriers and semaphores, heap, threads, annotations.
[[nodiscard]] GeneratorOptions small_everything(std::uint64_t seed);

// For benchmarks; race-free unless race_density is set afterwards.
// Nine accesses of ten: words of arrays owned by a thread or guarded by a lock.
[[nodiscard]] GeneratorOptions access_heavy(std::uint64_t seed, std::uint64_t events, std::uint32_t threads);
// Half of the events acquire or release one of many locks.
[[nodiscard]] GeneratorOptions lock_heavy(std::uint64_t seed, std::uint64_t events, std::uint32_t threads);
// Nearly all accesses read data that all threads read: the read vectors of
// FastTrack at their fullest.
[[nodiscard]] GeneratorOptions read_shared(std::uint64_t seed, std::uint64_t events, std::uint32_t threads);

}  // namespace deadheat
