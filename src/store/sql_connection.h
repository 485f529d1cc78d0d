// SPDX-License-Identifier: Apache-2.0
// SqlConnection: a database, as little of it as the store needs. Two drivers implement
// it; statements are written once, in the SQL that both understand, with $1, $2, ... for
// their parameters.
//
// What both understand, and the store keeps to: INSERT ... ON CONFLICT DO UPDATE, CASE for
// the larger of two, CAST(SUM(...) AS BIGINT), and no function that collects texts.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace deadheat {

// NULL, or a value.
using SqlValue = std::variant<std::monostate, std::int64_t, double, std::string>;
using SqlRow = std::vector<SqlValue>;
using SqlRows = std::vector<SqlRow>;

// What a transaction keeps away.
enum class SqlLock : std::uint8_t {
  kSnapshot,    // nobody: all its statements see the same moment
  kWriters,     // as far as they touch the same rows, at least
  kMigrations,  // and everybody else who changes tables
};

class SqlConnection {
 public:
  virtual ~SqlConnection() = default;
  SqlConnection(const SqlConnection&) = delete;
  SqlConnection& operator=(const SqlConnection&) = delete;

  // One statement. Errors: kIo, in the database's words.
  virtual Result<SqlRows> run(const std::string& statement, const std::vector<SqlValue>& parameters) = 0;
  Result<SqlRows> run(const std::string& statement) { return run(statement, {}); }

  // All or nothing: on disk when it returns without an error. `body` may be called again when the
  // database gave up in favour of others (deadlock, lost connection).
  Status transaction(SqlLock lock, const std::function<Status()>& body);

 protected:
  SqlConnection() = default;
  virtual Status begin(SqlLock lock) = 0;
  // Whether the last error goes away by itself, so that the transaction may be tried again.
  [[nodiscard]] virtual bool is_worth_another_try() = 0;
};

// The directory must exist. Errors: kIo.
Result<std::unique_ptr<SqlConnection>> open_sqlite(const std::string& path, bool creates);
// Errors: kIo; kUnsupported when the client library is not installed.
Result<std::unique_ptr<SqlConnection>> open_postgres(const std::string& url);

}  // namespace deadheat
