// SPDX-License-Identifier: Apache-2.0
// The mutex is on the stack of one thread, which starts the other and hands it over by
// pointer. What the first does after that is unordered but for the mutex.
#include <mutex>

#include "hidden.h"

struct Meeting {
  std::mutex mutex;
  int present = 0;

  void join_in() {
    const std::lock_guard guard(mutex);
    ++present;
  }
};

int topic;

void guest(Meeting* meeting) {
  usually_late();
  meeting->join_in();
  topic = 2;  // race lock_on_stack
}

void host() {
  Meeting meeting;
  std::thread other(guest, &meeting);
  topic = 1;  // race lock_on_stack
  late_if_reversed();
  meeting.join_in();
  other.join();
}

int main() { std::thread(host).join(); }
