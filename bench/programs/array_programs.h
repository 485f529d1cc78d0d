// SPDX-License-Identifier: Apache-2.0
// What the programs of deadheat_array_bench share. Each works with two threads on
// large flat arrays of the heap: what a race detector remembers of every element
// is most of what these programs cost under it.
//
// Rules for a program here:
//  - Free of races, ordered by barriers, by the start and end of threads and, where
//    said, by atomics.
//  - The number of repetitions scales the work and not the arrays, so that a short
//    run has the memory of a long one.
//  - The checksum is made of all results and is the same in every run and build:
//    sums of floating-point numbers have one order, whichever thread is faster.
//  - The inner loops take pointers and not vectors: nobody can change a pointer of
//    their own, so accesses to the array itself are nearly all there is to check.
#pragma once

#include <pthread.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <type_traits>
#include <vector>

#include "harness.h"

namespace deadheat::bench {

inline constexpr std::size_t kThreads = 2;

// For all threads of in_two_threads. From pthreads and not std::barrier: waiting
// sleeps, so that the time is that of the work, and every detector knows it.
class Barrier {
 public:
  Barrier() { pthread_barrier_init(&barrier_, nullptr, kThreads); }
  ~Barrier() { pthread_barrier_destroy(&barrier_); }
  Barrier(const Barrier&) = delete;
  Barrier& operator=(const Barrier&) = delete;

  void wait() { pthread_barrier_wait(&barrier_); }

 private:
  pthread_barrier_t barrier_;
};

// The consecutive elements from begin to before end.
struct Slice {
  std::size_t begin = 0;
  std::size_t end = 0;
};

// The share of one thread when `elements` are cut into one piece for each.
inline Slice slice_of(std::size_t elements, std::size_t self) {
  return {elements * self / kThreads, elements * (self + 1) / kThreads};
}

// A checksum of numbers in their order, to the last bit.
class Digest {
 public:
  void add(std::uint64_t number) { value_ = (std::rotl(value_, 5) ^ number) * 0x9e3779b97f4a7c15U; }

  template <typename Number>
  void add_all(const std::vector<Number>& numbers) {
    for (const Number number : numbers) {
      if constexpr (std::is_same_v<Number, double>) {
        add(std::bit_cast<std::uint64_t>(number));
      } else {
        add(static_cast<std::uint64_t>(number));
      }
    }
  }

  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 1;
};

// Ends a program whose result is wrong.
[[noreturn]] inline void fail(const char* what) {
  std::fprintf(stderr, "wrong result: %s\n", what);
  std::abort();
}

// The programs; array_bench.cpp has their names. Each returns its checksum.
std::uint64_t crypt_bytes(int repetitions);
std::uint64_t lu_factorisation(int repetitions);
std::uint64_t fourier_series(int repetitions);
std::uint64_t over_relaxation(int repetitions);
std::uint64_t sparse_multiply(int repetitions);
std::uint64_t monte_carlo(int repetitions);
std::uint64_t molecular_dynamics(int repetitions);
std::uint64_t ray_tracer(int repetitions);
std::uint64_t matrix_multiply(int repetitions);
std::uint64_t stencil(int repetitions);
std::uint64_t fourier_transform(int repetitions);
std::uint64_t merge_sort(int repetitions);
std::uint64_t compress_blocks(int repetitions);
std::uint64_t breadth_first_search(int repetitions);

}  // namespace deadheat::bench
