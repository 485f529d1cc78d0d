// SPDX-License-Identifier: Apache-2.0
// Threads that are cancelled at any moment in functions of C++, which have no cleanups of their own;
// the destructors of those that called them run.
#include "turns.h"

namespace {

volatile long shared[64];
int left = 0;  // the thread's, then main's

struct Caller {
  ~Caller() { ++left; }
};

__attribute__((noinline)) void count_for_ever(int* place) {
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, nullptr);
  order_reach_at(place, 1);
  for (long i = 0;; i++) {
    for (int idle = 0; idle < 200; idle++) __asm__ volatile("");
    shared[i & 63] = shared[(i + 1) & 63] + i;
  }
}

void* work(void* place) {
  Caller caller;
  count_for_ever(static_cast<int*>(place));
  return nullptr;
}

}  // namespace

int main() {
  static int begun;
  for (int round = 0; round < 20; round++) {
    pthread_t thread;
    void* result = nullptr;
    order_store(&begun, 0);
    if (pthread_create(&thread, nullptr, work, &begun) != 0) abort();
    order_await_at(&begun, 1);
    pthread_cancel(thread);
    pthread_join(thread, &result);
    if (result != PTHREAD_CANCELED) abort();
  }
  return left == 20 ? 0 : 1;
}
