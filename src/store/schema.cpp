// SPDX-License-Identifier: Apache-2.0
#include "store/schema.h"

#include <fmt/format.h>

#include <variant>
#include <vector>

namespace deadheat {

namespace {

// Element n makes version n + 1 of version n. What has been released is never edited.
const std::vector<std::vector<const char*>>& migrations() {
  static const std::vector<std::vector<const char*>> steps = {
      {
          "CREATE TABLE runs (id TEXT NOT NULL PRIMARY KEY, mode TEXT NOT NULL, program TEXT NOT NULL, "
          "arguments TEXT NOT NULL, machine TEXT NOT NULL, tool TEXT NOT NULL, started BIGINT NOT NULL, "
          "duration BIGINT, rate DOUBLE PRECISION, effective_rate DOUBLE PRECISION, overhead DOUBLE PRECISION, "
          "status TEXT NOT NULL)",
          "CREATE TABLE races (fingerprint TEXT NOT NULL PRIMARY KEY, kind TEXT NOT NULL, title TEXT NOT NULL, "
          "variable TEXT NOT NULL, earlier TEXT NOT NULL, later TEXT NOT NULL, state TEXT NOT NULL, "
          "state_since BIGINT NOT NULL, note TEXT NOT NULL, document TEXT NOT NULL, document_time BIGINT NOT NULL)",
          "CREATE TABLE sightings (fingerprint TEXT NOT NULL REFERENCES races (fingerprint), "
          "run TEXT NOT NULL REFERENCES runs (id), occurrences BIGINT NOT NULL, first_seen BIGINT NOT NULL, "
          "last_seen BIGINT NOT NULL, PRIMARY KEY (fingerprint, run))",
      },
      {
          "CREATE INDEX sightings_by_time ON sightings (fingerprint, first_seen)",
          "CREATE INDEX sightings_by_run ON sightings (run)",
          "CREATE INDEX sightings_by_news ON sightings (last_seen)",
          "CREATE INDEX runs_by_time ON runs (started)",
      },
      {
          // Which way of making fingerprints the race is named by.
          "ALTER TABLE races ADD COLUMN identity BIGINT NOT NULL DEFAULT 1",
      },
  };
  return steps;
}

Result<std::int64_t> version_of(SqlConnection& connection) {
  const auto rows = connection.run("SELECT version FROM deadheat_schema");
  if (!rows.ok()) return rows.error();
  if (rows.value().empty()) return std::int64_t{0};
  const auto* version = std::get_if<std::int64_t>(&rows.value()[0][0]);
  return version == nullptr ? 0 : *version;
}

Status check(std::int64_t found, std::int64_t known) {
  if (found <= known) return {};
  return Error{ErrorCode::kUnsupported,
               fmt::format("the store has version {}, newest known {}; use a newer deadheat", found, known)};
}

Status migrate(SqlConnection& connection, std::int64_t version) {
  const auto made = connection.run("CREATE TABLE IF NOT EXISTS deadheat_schema (version BIGINT NOT NULL)");
  if (!made.ok()) return made.error();
  const auto found = version_of(connection);
  if (!found.ok()) return found.error();
  if (Status status = check(found.value(), version); !status.ok()) return status;
  for (std::int64_t at = found.value(); at < version; ++at) {
    for (const char* const statement : migrations()[static_cast<std::size_t>(at)]) {
      if (const auto done = connection.run(statement); !done.ok()) return done.error();
    }
  }
  if (found.value() == version) return {};
  if (const auto cleared = connection.run("DELETE FROM deadheat_schema"); !cleared.ok()) return cleared.error();
  const auto noted = connection.run("INSERT INTO deadheat_schema VALUES ($1)", {version});
  return noted.ok() ? Status() : Status(noted.error());
}

}  // namespace

Status check_is_store(SqlConnection& connection) {
  const auto found = version_of(connection);
  return found.ok() ? Status() : Status(found.error());
}

Status check_is_readable(SqlConnection& connection) {
  const auto found = version_of(connection);
  return found.ok() ? check(found.value(), kSchemaVersion) : Status(found.error());
}

Status bring_up_to_date(SqlConnection& connection, std::int64_t version) {
  // Nearly always there is nothing to do, and nobody needs to wait.
  if (const auto found = version_of(connection); found.ok()) {
    if (found.value() >= version) return check(found.value(), version);
  }
  return connection.transaction(SqlLock::kMigrations, [&] { return migrate(connection, version); });
}

}  // namespace deadheat
