// SPDX-License-Identifier: Apache-2.0
// The driver for PostgreSQL. The client library is loaded when a URL asks for it: the
// command starts faster without it, and works where it is not installed.
#include <dlfcn.h>
#include <fmt/format.h>
#include <libpq-fe.h>

#include <charconv>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/sql_connection.h"
#include "store/store_address.h"

namespace deadheat {

namespace {

// The functions that we use, with the types of the header.
struct Library {
  decltype(&PQconnectdb) connect = nullptr;
  decltype(&PQfinish) finish = nullptr;
  decltype(&PQreset) reset = nullptr;
  decltype(&PQstatus) status = nullptr;
  decltype(&PQerrorMessage) error_message = nullptr;
  decltype(&PQexecParams) exec = nullptr;
  decltype(&PQresultStatus) result_status = nullptr;
  decltype(&PQresultErrorField) error_field = nullptr;
  decltype(&PQclear) clear = nullptr;
  decltype(&PQntuples) row_count = nullptr;
  decltype(&PQnfields) column_count = nullptr;
  decltype(&PQgetvalue) value = nullptr;
  decltype(&PQgetlength) length = nullptr;
  decltype(&PQgetisnull) is_null = nullptr;
  decltype(&PQftype) type = nullptr;
  decltype(&PQsetNoticeProcessor) set_notices = nullptr;
};

// Null when it is not installed, or lacks something.
const Library* library() {
  static const Library* const loaded = []() -> const Library* {
    void* const handle = dlopen("libpq.so.5", RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) return nullptr;
    static Library found;
    bool is_whole = true;
    const auto find = [&](auto& target, const char* name) {
      target = reinterpret_cast<std::remove_reference_t<decltype(target)>>(dlsym(handle, name));
      is_whole = is_whole && target != nullptr;
    };
    find(found.connect, "PQconnectdb");
    find(found.finish, "PQfinish");
    find(found.reset, "PQreset");
    find(found.status, "PQstatus");
    find(found.error_message, "PQerrorMessage");
    find(found.exec, "PQexecParams");
    find(found.result_status, "PQresultStatus");
    find(found.error_field, "PQresultErrorField");
    find(found.clear, "PQclear");
    find(found.row_count, "PQntuples");
    find(found.column_count, "PQnfields");
    find(found.value, "PQgetvalue");
    find(found.length, "PQgetlength");
    find(found.is_null, "PQgetisnull");
    find(found.type, "PQftype");
    find(found.set_notices, "PQsetNoticeProcessor");
    return is_whole ? &found : nullptr;
  }();
  return loaded;
}

std::string one_line(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  std::string line(text);
  for (char& letter : line) {
    if (letter == '\n' || letter == '\t') letter = ' ';
  }
  return line;
}

// The numbers of types in the server's catalogue.
constexpr Oid kBigInteger = 20;
constexpr Oid kInteger = 23;
constexpr Oid kDouble = 701;

// The class of SQL's states for a connection that failed.
constexpr char kConnectionLost[] = "08006";

class PostgresConnection final : public SqlConnection {
 public:
  PostgresConnection(const Library& library, PGconn* connection, std::string address)
      : pq_(library), connection_(connection), address_(std::move(address)) {
    pq_.set_notices(connection_, [](void*, const char*) {}, nullptr);
  }
  ~PostgresConnection() override { pq_.finish(connection_); }
  PostgresConnection(const PostgresConnection&) = delete;
  PostgresConnection& operator=(const PostgresConnection&) = delete;

  Result<SqlRows> run(const std::string& text, const std::vector<SqlValue>& parameters) override {
    std::vector<std::string> words;
    std::vector<const char*> values;
    words.reserve(parameters.size());
    for (const SqlValue& parameter : parameters) {
      if (const auto* number = std::get_if<std::int64_t>(&parameter)) {
        values.push_back(words.emplace_back(fmt::format("{}", *number)).c_str());
      } else if (const auto* fraction = std::get_if<double>(&parameter)) {
        values.push_back(words.emplace_back(fmt::format("{:.17g}", *fraction)).c_str());
      } else if (const auto* string = std::get_if<std::string>(&parameter)) {
        values.push_back(string->c_str());
      } else {
        values.push_back(nullptr);
      }
    }
    const std::unique_ptr<PGresult, void (*)(PGresult*)> result(
        pq_.exec(connection_, text.c_str(), static_cast<int>(values.size()), nullptr, values.data(), nullptr, nullptr,
                 0),
        pq_.clear);
    const ExecStatusType status = pq_.result_status(result.get());
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
      const char* const state = pq_.error_field(result.get(), PG_DIAG_SQLSTATE);
      state_ = state == nullptr ? kConnectionLost : state;
      return Error{ErrorCode::kIo, "the store's server: " + what_it_says()};
    }
    state_.clear();
    return rows_of(result.get());
  }

  // Why something failed.
  [[nodiscard]] std::string what_it_says() const {
    return without_secrets(one_line(pq_.error_message(connection_)), address_);
  }

 protected:
  Status begin(SqlLock lock) override {
    if (pq_.status(connection_) != CONNECTION_OK) pq_.reset(connection_);
    auto begun = run(lock == SqlLock::kSnapshot ? "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY" : "BEGIN", {});
    // Any number, as long as all versions take the same one.
    if (begun.ok() && lock == SqlLock::kMigrations) begun = run("SELECT pg_advisory_xact_lock(7093310665)", {});
    return begun.ok() ? Status() : Status(begun.error());
  }

  bool is_worth_another_try() override {
    // The server says that it ends, or nothing any more. The library may learn of it later.
    const bool is_lost = state_.starts_with("57P") || state_.starts_with("08");
    if (is_lost || pq_.status(connection_) != CONNECTION_OK) {
      pq_.reset(connection_);
      return pq_.status(connection_) == CONNECTION_OK;
    }
    return state_ == "40P01" || state_ == "40001";  // deadlock, serialisation
  }

 private:
  SqlRows rows_of(const PGresult* result) const {
    SqlRows rows;
    for (int at = 0; at < pq_.row_count(result); ++at) {
      SqlRow& row = rows.emplace_back();
      for (int column = 0; column < pq_.column_count(result); ++column) row.push_back(value_of(result, at, column));
    }
    return rows;
  }

  SqlValue value_of(const PGresult* result, int row, int column) const {
    if (pq_.is_null(result, row, column) != 0) return std::monostate{};
    std::string text(pq_.value(result, row, column), static_cast<std::size_t>(pq_.length(result, row, column)));
    const Oid type = pq_.type(result, column);
    if (type == kDouble) return std::strtod(text.c_str(), nullptr);
    if (type != kBigInteger && type != kInteger) return text;
    std::int64_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
  }

  const Library& pq_;
  PGconn* connection_;
  std::string address_;
  std::string state_;  // of the last statement; empty: good
};

}  // namespace

Result<std::unique_ptr<SqlConnection>> open_postgres(const std::string& url) {
  const Library* const pq = library();
  if (pq == nullptr) {
    return Error{ErrorCode::kUnsupported, "PostgreSQL needs its client library, libpq.so.5 (Debian package libpq5)"};
  }
  PGconn* const connection = pq->connect(url.c_str());
  auto opened = std::make_unique<PostgresConnection>(*pq, connection, url);
  if (pq->status(connection) != CONNECTION_OK) {
    return Error{ErrorCode::kIo, "cannot open the store: " + opened->what_it_says()};
  }
  return std::unique_ptr<SqlConnection>(std::move(opened));
}

}  // namespace deadheat
