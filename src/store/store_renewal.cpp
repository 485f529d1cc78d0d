// SPDX-License-Identifier: Apache-2.0
// Other names for the races of older versions.
#include "store/rows.h"
#include "store/sql_connection.h"
#include "store/store.h"

namespace deadheat {

namespace {

constexpr char kOldRaces[] = "SELECT fingerprint, document FROM races WHERE identity < 2";
constexpr char kKeep[] = "UPDATE races SET identity = 2 WHERE fingerprint = $1";
// Where the new name is there already, its newer words stay, and the newer verdict.
constexpr char kCopy[] =
    "INSERT INTO races (fingerprint, kind, title, variable, earlier, later, state, state_since, note, document, "
    "document_time, identity) SELECT CAST($2 AS TEXT), kind, title, variable, earlier, later, state, state_since, "
    "note, "
    "CAST($3 AS TEXT), document_time, 2 FROM races WHERE fingerprint = $1 ON CONFLICT (fingerprint) DO UPDATE SET "
    "state = CASE WHEN excluded.state_since > races.state_since THEN excluded.state ELSE races.state END, "
    "note = CASE WHEN excluded.state_since > races.state_since THEN excluded.note ELSE races.note END, "
    "state_since = CASE WHEN excluded.state_since > races.state_since THEN excluded.state_since ELSE "
    "races.state_since END";
constexpr char kMoveSightings[] =
    "UPDATE sightings SET fingerprint = $2 WHERE fingerprint = $1 AND run NOT IN "
    "(SELECT x.run FROM sightings x WHERE x.fingerprint = $2)";
constexpr char kDropSightings[] = "DELETE FROM sightings WHERE fingerprint = $1";
constexpr char kDropRace[] = "DELETE FROM races WHERE fingerprint = $1";

Status renew_race(SqlConnection& connection, const std::string& old, const RenewedRace& race) {
  const std::pair<const char*, std::vector<SqlValue>> steps[] = {{kCopy, {old, race.fingerprint, race.document}},
                                                                 {kMoveSightings, {old, race.fingerprint}},
                                                                 {kDropSightings, {old}},
                                                                 {kDropRace, {old}}};
  for (const auto& [statement, values] : steps) {
    if (const auto done = connection.run(statement, values); !done.ok()) return done.error();
  }
  return {};
}

}  // namespace

Status Store::renew(const RaceRenewal& renewal) {
  const auto is_old = connection_->run("SELECT 1 FROM races WHERE identity < 2 LIMIT 1");
  if (!is_old.ok()) return is_old.error();
  if (is_old.value().empty()) return {};
  return connection_->transaction(SqlLock::kWriters, [&]() -> Status {
    const auto rows = connection_->run(kOldRaces);
    if (!rows.ok()) return rows.error();
    for (const SqlRow& row : rows.value()) {
      const std::string old = text_of(row[0]);
      const auto race = renewal(text_of(row[1]));
      if (race && race->fingerprint != old) {
        if (Status status = renew_race(*connection_, old, *race); !status.ok()) return status;
      } else if (const auto kept = connection_->run(kKeep, {old}); !kept.ok()) {
        return kept.error();
      }
    }
    return {};
  });
}

}  // namespace deadheat
