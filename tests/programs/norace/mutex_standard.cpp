// SPDX-License-Identifier: Apache-2.0
// The mutexes and locks of C++.
#include <chrono>
#include <mutex>

#include "turns.h"

std::mutex plain;
std::recursive_mutex recursive;
std::timed_mutex timed;
std::recursive_timed_mutex recursive_timed;
int counters[5];

static void body(int) {
  using namespace std::chrono_literals;
  for (int i = 0; i < 100; i++) {
    {
      std::lock_guard lock(plain);
      counters[0]++;
    }
    {
      std::lock_guard outer(recursive);
      std::lock_guard inner(recursive);
      counters[1]++;
    }
    {
      std::unique_lock lock(timed, 1h);
      if (!lock) abort();
      counters[2]++;
    }
    {
      std::unique_lock lock(recursive_timed, std::chrono::system_clock::now() + 1h);
      if (!lock) abort();
      counters[3]++;
    }
    {
      std::scoped_lock lock(plain, timed, recursive);
      counters[4]++;
    }
  }
}

int main() {
  at_once(4, body);
  for (int counter : counters) {
    if (counter != 400) return 1;
  }
}
