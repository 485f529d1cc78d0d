// SPDX-License-Identifier: Apache-2.0
// What the programs with seeded races share (sampling_*.cpp). script/bench sampling
// runs them many times to see how often each race is found at which rate.
//
// Two threads, one `ahead` and one `behind`, work on memory of their own, and their
// steps are divided into kChunks chunks. At the end of a chunk they wait for each
// other in a way that the detector cannot see (tests/programs/support/order.h), so
// what is done in one chunk comes before what is done in the next, without being
// ordered for the detector. Every race occurs in every run.
//
// The lines of a race are marked; sampling_measure.cpp reads the marks:
//
//   // first of NAME: once     the access that has to be sampled. It is made once in a
//                              run, or only its last time counts: found in a run with
//                              a probability equal to the rate.
//   // first of NAME: often    it is made again and again, each time on other memory: of
//                              all occurrences a share equal to the rate is found.
//   // first of NAME: at will  again and again on the same memory, in no certain order.
//   // second of NAME          the other side.
//
// An argument is a percentage: of the usual steps, so that a recorded trace does not
// get too large.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <thread>

#include "support/order.h"

namespace deadheat::bench {

constexpr int kChunks = 20;

// A step of work that has nothing to do with any race: about a microsecond, mostly
// accesses to memory.
class OwnWork {
 public:
  [[gnu::noinline]] void step() {
    for (int round = 0; round < 12; ++round) {
      std::uint64_t carry = memory_[63];
      for (std::uint64_t& word : memory_) {
        carry = (carry ^ word) * 0x9e3779b97f4a7c15U;
        word = carry ^ (carry >> 29);
      }
    }
    use(static_cast<long long>(memory_[0]));
  }

 private:
  std::array<std::uint64_t, 64> memory_{1, 2, 3};
};

inline int meeting_place;

// Both threads are past chunks 0 to `chunk`.
inline void end_chunk(int chunk) { order_meet(&meeting_place, 2 * (chunk + 1)); }

// The steps of a chunk: `usual` ones, or the percentage of them that the command line
// asks for.
inline int steps_of_chunk(int usual, int argc, char** argv) {
  const int percent = argc > 1 ? std::atoi(argv[1]) : 100;
  return std::max(1, usual * percent / 100);
}

template <class Ahead, class Behind>
void run_both(const Ahead& ahead, const Behind& behind) {
  std::thread first(ahead);
  std::thread second(behind);
  first.join();
  second.join();
}

}  // namespace deadheat::bench
