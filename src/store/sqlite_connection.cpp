// SPDX-License-Identifier: Apache-2.0
// The driver for SQLite: a file in WAL mode. A commit is one appended and synchronised
// piece of the log, so that a process that is killed, or a machine that loses its power,
// leaves all commits before, whole; whoever opens the file next puts it in order. Writers
// wait for each other, readers for nobody.
#include <fmt/format.h>
#include <sqlite3.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "store/sql_connection.h"

namespace deadheat {

namespace {

namespace fs = std::filesystem;

// A writer holds the file for some milliseconds, a slow disk included; a hundred may queue.
constexpr int kBusyMilliseconds = 15'000;

struct CloseDatabase {
  void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
};
struct FinalizeStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Database = std::unique_ptr<sqlite3, CloseDatabase>;
using Statement = std::unique_ptr<sqlite3_stmt, FinalizeStatement>;

int bind(sqlite3_stmt* statement, int index, const SqlValue& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return sqlite3_bind_int64(statement, index, *number);
  if (const auto* number = std::get_if<double>(&value)) return sqlite3_bind_double(statement, index, *number);
  if (const auto* text = std::get_if<std::string>(&value)) {
    return sqlite3_bind_text64(statement, index, text->data(), text->size(), SQLITE_STATIC, SQLITE_UTF8);
  }
  return sqlite3_bind_null(statement, index);
}

SqlValue value_of(sqlite3_stmt* statement, int column) {
  switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER:
      return static_cast<std::int64_t>(sqlite3_column_int64(statement, column));
    case SQLITE_FLOAT:
      return sqlite3_column_double(statement, column);
    case SQLITE_NULL:
      return std::monostate{};
    default:
      break;
  }
  const auto* text = static_cast<const char*>(sqlite3_column_blob(statement, column));
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement, column));
  return text == nullptr ? std::string() : std::string(text, size);
}

// A copy of a store in a directory of its own, which goes with it.
class StoreCopy {
 public:
  // Copies the file and what is not in it yet. Null: there is no room, or it cannot be read.
  static std::unique_ptr<StoreCopy> make(const std::string& path) {
    std::error_code error;
    std::string name = (fs::temp_directory_path(error) / "deadheat-store-XXXXXX").string();
    if (error || mkdtemp(name.data()) == nullptr) return nullptr;
    std::unique_ptr<StoreCopy> copy(new StoreCopy(name));
    if (!fs::copy_file(path, copy->path(), error)) return nullptr;
    fs::copy_file(path + "-wal", copy->path() + "-wal", error);
    return copy;
  }
  StoreCopy(const StoreCopy&) = delete;
  StoreCopy& operator=(const StoreCopy&) = delete;
  ~StoreCopy() {
    std::error_code ignored;
    fs::remove_all(directory_, ignored);
  }
  [[nodiscard]] std::string path() const { return directory_ + "/races.db"; }

 private:
  explicit StoreCopy(std::string directory) : directory_(std::move(directory)) {}
  std::string directory_;
};

class SqliteConnection final : public SqlConnection {
 public:
  SqliteConnection(Database database, std::string path, std::unique_ptr<StoreCopy> copy = nullptr)
      : copy_(std::move(copy)), database_(std::move(database)), path_(std::move(path)) {}

  // Whether the file can be looked into at all.
  [[nodiscard]] bool is_readable() { return run("SELECT COUNT(*) FROM sqlite_schema", {}).ok(); }

  Result<SqlRows> run(const std::string& text, const std::vector<SqlValue>& parameters) override {
    sqlite3_stmt* prepared = nullptr;
    const int size = static_cast<int>(text.size()) + 1;
    if (sqlite3_prepare_v2(database_.get(), text.c_str(), size, &prepared, nullptr) != SQLITE_OK) return failure();
    const Statement statement(prepared);
    for (std::size_t at = 0; at < parameters.size(); ++at) {
      const int index = sqlite3_bind_parameter_index(prepared, fmt::format("${}", at + 1).c_str());
      if (index != 0 && bind(prepared, index, parameters[at]) != SQLITE_OK) return failure();
    }
    SqlRows rows;
    int step = sqlite3_step(prepared);
    for (; step == SQLITE_ROW; step = sqlite3_step(prepared)) {
      SqlRow& row = rows.emplace_back();
      for (int column = 0; column < sqlite3_column_count(prepared); ++column) row.push_back(value_of(prepared, column));
    }
    if (step != SQLITE_DONE) return failure();
    last_ = SQLITE_OK;
    return rows;
  }

  // Makes the settings that every connection that may write needs.
  Status settle() {
    for (const char* const setting : {"PRAGMA synchronous = FULL", "PRAGMA foreign_keys = ON"}) {
      if (const auto set = run(setting, {}); !set.ok()) return set.error();
    }
    return {};
  }

  // The store may be new. Turning to WAL is refused at once while another process does the same.
  Status turn_to_log() {
    for (int tries = 0;; ++tries) {
      const auto mode = run("PRAGMA journal_mode = WAL", {});
      if (mode.ok()) return {};
      if (last_ != SQLITE_BUSY || tries == 500) return mode.error();
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }

 protected:
  Status begin(SqlLock lock) override {
    // To write from the beginning on: a reader that becomes a writer may be refused.
    const auto begun = run(lock == SqlLock::kSnapshot ? "BEGIN" : "BEGIN IMMEDIATE", {});
    return begun.ok() ? Status() : Status(begun.error());
  }
  bool is_worth_another_try() override { return last_ == SQLITE_BUSY_SNAPSHOT; }

 private:
  Error failure() {
    last_ = sqlite3_extended_errcode(database_.get());
    const bool is_busy = (last_ & 0xff) == SQLITE_BUSY;
    return {ErrorCode::kIo, fmt::format("'{}': {}", path_,
                                        is_busy ? "another process has kept the store locked for too long"
                                                : sqlite3_errmsg(database_.get()))};
  }

  std::unique_ptr<StoreCopy> copy_;  // what is open, if not the file itself; goes after the database
  Database database_;
  std::string path_;
  int last_ = SQLITE_OK;
};

}  // namespace

Result<std::unique_ptr<SqlConnection>> open_sqlite(const std::string& path, bool creates) {
  const auto open = [](const std::string& file, int flags) {
    sqlite3* opened = nullptr;
    const int result = sqlite3_open_v2(file.c_str(), &opened, flags | SQLITE_OPEN_EXRESCODE, nullptr);
    if (opened != nullptr) sqlite3_busy_timeout(opened, kBusyMilliseconds);
    return std::pair{Database(opened), result};
  };
  auto [database, result] = open(path, creates ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READWRITE);
  if (result != SQLITE_OK) {
    std::error_code ignored;
    const char* const words = std::filesystem::is_directory(path, ignored) ? "it is a directory"
                              : database                                   ? sqlite3_errmsg(database.get())
                                                                           : sqlite3_errstr(result);
    return Error{ErrorCode::kIo, fmt::format("cannot open the store '{}': {}", path, words)};
  }
  const bool is_read_only = sqlite3_db_readonly(database.get(), "main") == 1;
  auto connection = std::make_unique<SqliteConnection>(std::move(database), path);
  if (creates && !is_read_only) {
    if (Status status = connection->turn_to_log(); !status.ok()) return status.error();
  }
  if (connection->is_readable()) {
    if (Status status = connection->settle(); !status.ok()) return status.error();
    return std::unique_ptr<SqlConnection>(std::move(connection));
  }
  // To read a file with a log, SQLite makes a third file beside them. Where it may not, a copy is read.
  auto copy = StoreCopy::make(path);
  auto [copied, copied_result] = open(copy ? copy->path() : path, SQLITE_OPEN_READONLY);
  if (!copy || copied_result != SQLITE_OK) return std::unique_ptr<SqlConnection>(std::move(connection));
  return std::unique_ptr<SqlConnection>(std::make_unique<SqliteConnection>(std::move(copied), path, std::move(copy)));
}

}  // namespace deadheat
