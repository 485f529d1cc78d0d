// SPDX-License-Identifier: Apache-2.0
// std::barrier with a completion function, std::latch, counting_semaphore.
#include <barrier>
#include <chrono>
#include <latch>
#include <semaphore>

#include "turns.h"

int phases;
int numbers[4];
int counter;
struct Completion {
  void operator()() noexcept { phases++; }
};
std::barrier<Completion> barrier(4);
std::latch latch(4);
std::binary_semaphore semaphore(1);

static void body(int index) {
  using namespace std::chrono_literals;
  for (int phase = 0; phase < 20; phase++) {
    numbers[(index + phase) % 4]++;
    barrier.arrive_and_wait();
    use(phases);
  }
  numbers[index] = 1;
  latch.arrive_and_wait();
  use(numbers[(index + 1) % 4]);
  for (int i = 0; i < 20; i++) {
    if (i % 2 == 0) {
      semaphore.acquire();
    } else if (!semaphore.try_acquire_for(1h)) {
      abort();
    }
    counter++;
    semaphore.release();
  }
}

int main() {
  at_once(4, body);
  return counter == 80 && phases == 20 ? 0 : 1;
}
