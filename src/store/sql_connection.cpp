// SPDX-License-Identifier: Apache-2.0
#include "store/sql_connection.h"

namespace deadheat {

Status SqlConnection::transaction(SqlLock lock, const std::function<Status()>& body) {
  constexpr int kMostTries = 8;
  for (int tries = 1;; ++tries) {
    Status status = begin(lock);
    if (status.ok()) status = body();
    if (status.ok()) {
      const auto committed = run("COMMIT");
      if (committed.ok()) return {};
      status = committed.error();
    }
    const bool again = is_worth_another_try() && tries < kMostTries;
    // Fails when there is no transaction (any more): as good.
    static_cast<void>(run("ROLLBACK").ok());
    if (!again) return status;
  }
}

}  // namespace deadheat
