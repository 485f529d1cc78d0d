// SPDX-License-Identifier: Apache-2.0
// condition_variable with every kind of wait.
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "turns.h"

std::mutex mutex;
std::condition_variable condition;
int stage;

static void body(int index) {
  using namespace std::chrono_literals;
  std::unique_lock lock(mutex);
  const auto is_mine = [&] { return stage == index; };
  if (index == 0) condition.wait(lock, is_mine);
  if (index == 1) condition.wait_for(lock, 1h, is_mine);
  if (index == 2) condition.wait_until(lock, std::chrono::steady_clock::now() + 1h, is_mine);
  if (index == 3) condition.wait_until(lock, std::chrono::system_clock::now() + 1h, is_mine);
  condition.wait_for(lock, 0s);
  stage++;
  condition.notify_all();
}

int main() {
  at_once(4, body);
  return stage == 4 ? 0 : 1;
}
