// SPDX-License-Identifier: Apache-2.0
// Double-checked initialisation, done properly: an atomic pointer and a mutex. Who comes
// second sees all that the first did before, related or not. In the other order it is the
// other one that initialises.
#include <atomic>
#include <mutex>

#include "hidden.h"

struct Settings {
  int size = 16;
};

std::atomic<Settings*> settings;
std::mutex mutex;
Settings storage;
int generation;

[[gnu::noinline]] const Settings& get_settings() {
  Settings* known = settings.load(std::memory_order_acquire);
  if (known == nullptr) {
    const std::lock_guard guard(mutex);
    known = settings.load(std::memory_order_relaxed);
    if (known == nullptr) {
      storage.size = 32;
      known = &storage;
      settings.store(known, std::memory_order_release);
    }
  }
  return *known;
}

void first_user() {
  generation = 1;  // race lazy_initialisation
  late_if_reversed();
  use(get_settings().size);
}

void second_user() {
  usually_late();
  use(get_settings().size);
  generation = 2;  // race lazy_initialisation
}

int main() { run_together(first_user, second_user); }
