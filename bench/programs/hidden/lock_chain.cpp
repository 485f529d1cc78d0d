// SPDX-License-Identifier: Apache-2.0
// Four threads and three locks: the first hands a to the second, which hands b to the
// third, which hands c to the fourth. The race is between the two ends; to reverse any
// link of the chain shows it.
#include <mutex>

#include "hidden.h"

std::mutex a;
std::mutex b;
std::mutex c;
int taken[3];
int cargo;

[[gnu::noinline]] void take(std::mutex& mutex, int& count) {
  const std::lock_guard guard(mutex);
  ++count;
}

void send() {
  cargo = 1;  // race lock_chain
  late_if_reversed(10);
  take(a, taken[0]);
}

void carry() {
  take(a, taken[0]);
  take(b, taken[1]);
}

void carry_on() {
  take(b, taken[1]);
  take(c, taken[2]);
}

void receive() {
  take(c, taken[2]);
  use(cargo);  // race lock_chain
}

int main() {
  std::thread threads[4];
  int next = 0;
  for (const auto body : {send, carry, carry_on, receive}) {
    threads[next++] = std::thread(body);
    usually_late();  // for the next one
  }
  for (std::thread& thread : threads) thread.join();
}
