// SPDX-License-Identifier: Apache-2.0
// What the programs of this folder share.
//
// Each has races that are hidden: in nearly every run one thread comes to a lock some
// milliseconds after another, and the hand-over of the lock orders two accesses that it
// has nothing to do with. When the later thread takes the lock first, nothing orders
// them. Both lines of a race bear the mark `// race NAME`, and there are no other races.
//
// Built with -DHIDDEN_REVERSED the other thread is the later one, and any run shows the
// races: the proof that they are real.
#pragma once

#include <pthread.h>

#include <ctime>
#include <thread>

// Neither seen by a detector nor a frame on its stack.
#define HIDDEN_UNSEEN __attribute__((noinline, no_sanitize("thread")))

namespace hidden {

#ifdef HIDDEN_REVERSED
inline constexpr bool kIsReversed = true;
#else
inline constexpr bool kIsReversed = false;
#endif

HIDDEN_UNSEEN inline long long processor_time() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

// Works for so long.
HIDDEN_UNSEEN inline void spend(int milliseconds) {
  const long long end = processor_time() + milliseconds * 1'000'000LL;
  while (processor_time() < end) {
  }
}

// The work that makes a thread the later one at the lock behind it.
HIDDEN_UNSEEN inline void usually_late(int milliseconds = 5) {
  if (!kIsReversed) spend(milliseconds);
}

// The same in the other thread, in the build that shows the race.
HIDDEN_UNSEEN inline void late_if_reversed(int milliseconds = 5) {
  if (kIsReversed) spend(milliseconds);
}

// Runs each in a thread of its own. They begin when all of them exist.
template <class... Bodies>
void run_together(Bodies... bodies) {
  pthread_barrier_t start;
  pthread_barrier_init(&start, nullptr, sizeof...(bodies));
  std::thread threads[] = {std::thread([&start, bodies] {
    pthread_barrier_wait(&start);
    bodies();
  })...};
  for (std::thread& thread : threads) thread.join();
  pthread_barrier_destroy(&start);
}

// The optimiser must compute the value, and learns nothing of what becomes of it.
inline void use(long value) { __asm__ volatile("" : : "r"(value) : "memory"); }

}  // namespace hidden

using namespace hidden;  // each program is one file
