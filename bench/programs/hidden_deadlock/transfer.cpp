// SPDX-License-Identifier: Apache-2.0
// A transfer locks the account that pays and then the one that is paid, both on the heap.
// Two transfers in opposite directions deadlock, if only they come together.
#include <memory>
#include <mutex>

#include "../hidden/hidden.h"

struct Account {
  std::mutex mutex;
  long amount = 100;
};

[[gnu::noinline]] void lock_both_and_move(Account& from, Account& to, int pause) {
  const std::lock_guard payer(from.mutex);
  late_if_reversed(pause);
  const std::lock_guard paid(to.mutex);
  --from.amount;
  ++to.amount;
}

int main() {
  const auto mine = std::make_unique<Account>();
  const auto yours = std::make_unique<Account>();
  run_together([&] { lock_both_and_move(*mine, *yours, 5); },
               [&] {
                 usually_late(12);
                 late_if_reversed(2);
                 lock_both_and_move(*yours, *mine, 0);
               });
}
