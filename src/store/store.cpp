// SPDX-License-Identifier: Apache-2.0
// What is written; store_queries.cpp reads.
#include "store/store.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <random>
#include <system_error>
#include <utility>

#include "store/rows.h"
#include "store/schema.h"
#include "store/sql_connection.h"

namespace deadheat {

namespace {

std::string random_id() {
  std::random_device device;
  std::string id;
  for (int part = 0; part < 4; ++part) id += fmt::format("{:08x}", device());
  return id;
}

Status done(const Result<SqlRows>& result) { return result.ok() ? Status() : Status(result.error()); }

// What a run knows of itself from its beginning on, then what its end adds.
constexpr char kInsertRun[] =
    "INSERT INTO runs (id, mode, program, arguments, machine, tool, started, duration, rate, effective_rate, overhead, "
    "status) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) ON CONFLICT (id) DO NOTHING";
constexpr char kFinishRun[] =
    "UPDATE runs SET duration = $2, rate = $3, effective_rate = $4, overhead = $5, status = $6 WHERE id = $1";

// A race that was resolved is open again when a run that began later sees it.
constexpr char kMeetRace[] =
    "INSERT INTO races (fingerprint, kind, title, variable, earlier, later, state, state_since, note, document, "
    "document_time, identity) VALUES ($1, $2, $3, $4, $5, $6, 'open', 0, '', $7, $8, 2) ON CONFLICT (fingerprint) DO "
    "UPDATE SET "
    "kind = excluded.kind, title = excluded.title, variable = excluded.variable, earlier = excluded.earlier, "
    "later = excluded.later, document = excluded.document, document_time = excluded.document_time, "
    "state = CASE WHEN races.state = 'resolved' AND races.state_since < $9 THEN 'open' ELSE races.state END, "
    "state_since = CASE WHEN races.state = 'resolved' AND races.state_since < $9 THEN $8 ELSE races.state_since END";
constexpr char kSeeRace[] =
    "INSERT INTO sightings (fingerprint, run, occurrences, first_seen, last_seen) VALUES ($1, $2, $3, $4, $5) "
    "ON CONFLICT (fingerprint, run) DO UPDATE SET "
    "occurrences = CASE WHEN excluded.occurrences > sightings.occurrences THEN excluded.occurrences "
    "ELSE sightings.occurrences END, "
    "last_seen = CASE WHEN excluded.last_seen > sightings.last_seen THEN excluded.last_seen ELSE sightings.last_seen "
    "END";

constexpr char kMergeRun[] =
    "INSERT INTO runs (id, mode, program, arguments, machine, tool, started, duration, rate, effective_rate, overhead, "
    "status) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) ON CONFLICT (id) DO UPDATE SET "
    "duration = excluded.duration, rate = excluded.rate, effective_rate = excluded.effective_rate, "
    "overhead = excluded.overhead, status = excluded.status WHERE runs.duration IS NULL";
constexpr char kMergeRace[] =
    "INSERT INTO races (fingerprint, kind, title, variable, earlier, later, state, state_since, note, document, "
    "document_time, identity) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 2) ON CONFLICT (fingerprint) DO "
    "NOTHING";
constexpr char kNewerVerdict[] =
    "UPDATE races SET state = $2, state_since = $3, note = $4 WHERE fingerprint = $1 AND state_since < $3";
constexpr char kNewerDocument[] =
    "UPDATE races SET kind = $2, title = $3, variable = $4, earlier = $5, later = $6, document = $7, "
    "document_time = $8 WHERE fingerprint = $1 AND document_time < $8";

std::vector<SqlValue> values_of(const StoredRun& run) {
  return {run.id,
          run.mode,
          run.program,
          run.arguments,
          run.machine,
          run.tool,
          run.started,
          sql_value(run.duration),
          sql_value(run.rate),
          sql_value(run.effective_rate),
          sql_value(run.overhead),
          run.status};
}

std::int64_t number(std::uint64_t count) {
  return static_cast<std::int64_t>(std::min<std::uint64_t>(count, std::uint64_t{1} << 62U));
}

}  // namespace

Microseconds now_in_microseconds() {
  using std::chrono::system_clock;
  return std::chrono::duration_cast<std::chrono::microseconds>(system_clock::now().time_since_epoch()).count();
}

Store::Store(std::string place, std::unique_ptr<SqlConnection> connection)
    : place_(std::move(place)), connection_(std::move(connection)) {}
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;
Store::~Store() = default;

Result<Store> Store::open(const std::string& place, StoreAccess access) {
  if (Status status = check_address(place); !status.ok()) return status.error();
  const bool is_server = is_postgres_url(place);
  std::error_code ignored;
  if (!is_server && access == StoreAccess::kRead && !std::filesystem::exists(place, ignored)) {
    return Error{ErrorCode::kIo, fmt::format("there is no store '{}'", place)};
  }
  auto connection = is_server ? open_postgres(place) : open_sqlite(place, access == StoreAccess::kWrite);
  if (!connection.ok()) return connection.error();
  if (access == StoreAccess::kRead) {
    const Status found = check_is_store(*connection.value());
    if (!found.ok()) {
      return Error{found.error().code,
                   fmt::format("'{}' is not a store of races: {}", public_address(place), found.error().message)};
    }
    if (Status status = check_is_readable(*connection.value()); !status.ok()) return status.error();
  } else if (Status status = bring_up_to_date(*connection.value()); !status.ok()) {
    return status.error();
  }
  return Store(public_address(place), std::move(connection).value());
}

Result<std::string> Store::begin(const StoredRun& run) {
  StoredRun copy = run;
  copy.id = random_id();
  if (copy.status.empty()) copy.status = "running";
  const Status status =
      connection_->transaction(SqlLock::kWriters, [&] { return done(connection_->run(kInsertRun, values_of(copy))); });
  if (!status.ok()) return status.error();
  return copy.id;
}

Status Store::add(const std::string& run, const Sighting& sighting) { return add(run, std::vector{sighting}); }

Status Store::add(const std::string& run, const std::vector<Sighting>& sightings) {
  // Always in the same order: two transactions that lock rows crosswise would wait for each other.
  std::vector<const Sighting*> sorted;
  for (const Sighting& sighting : sightings) sorted.push_back(&sighting);
  std::sort(sorted.begin(), sorted.end(),
            [](const Sighting* one, const Sighting* other) { return one->fingerprint < other->fingerprint; });
  return connection_->transaction(SqlLock::kWriters, [&]() -> Status {
    const auto started = connection_->run("SELECT started FROM runs WHERE id = $1", {run});
    if (!started.ok()) return started.error();
    if (started.value().empty()) return Error{ErrorCode::kInvalid, fmt::format("the store has no run {}", run)};
    const Microseconds now = now_in_microseconds();
    for (const Sighting* seen : sorted) {
      const auto met =
          connection_->run(kMeetRace, {seen->fingerprint, seen->kind, seen->title, seen->variable, seen->earlier,
                                       seen->later, seen->document, now, started.value()[0][0]});
      if (!met.ok()) return met.error();
      const auto noted = connection_->run(kSeeRace, {seen->fingerprint, run, number(seen->occurrences), now, now});
      if (!noted.ok()) return noted.error();
    }
    return {};
  });
}

Status Store::finish(const StoredRun& run) {
  return connection_->transaction(SqlLock::kWriters, [&] {
    return done(connection_->run(kFinishRun, {run.id, sql_value(run.duration), sql_value(run.rate),
                                              sql_value(run.effective_rate), sql_value(run.overhead), run.status}));
  });
}

Status Store::set_state(std::string_view fingerprint, RaceState state, const std::string& note) {
  const auto found = race(fingerprint);
  if (!found.ok()) return found.error();
  return connection_->transaction(SqlLock::kWriters, [&] {
    return done(connection_->run(
        "UPDATE races SET state = $2, state_since = $3, note = $4 WHERE fingerprint = $1",
        {found.value().row.race.fingerprint, std::string(word_of(state)), now_in_microseconds(), note}));
  });
}

Status Store::merge(const StoreContent& other) {
  return connection_->transaction(SqlLock::kWriters, [&]() -> Status {
    for (const StoredRun& run : other.runs) {
      if (const auto added = connection_->run(kMergeRun, values_of(run)); !added.ok()) return added.error();
    }
    for (const StoreContent::Race& known : other.races) {
      const Sighting& race = known.race;
      const std::string state(word_of(known.state));
      const auto steps = {std::pair<const char*, std::vector<SqlValue>>{
                              kMergeRace,
                              {race.fingerprint, race.kind, race.title, race.variable, race.earlier, race.later, state,
                               known.state_since, known.note, race.document, known.document_time}},
                          {kNewerVerdict, {race.fingerprint, state, known.state_since, known.note}},
                          {kNewerDocument,
                           {race.fingerprint, race.kind, race.title, race.variable, race.earlier, race.later,
                            race.document, known.document_time}}};
      for (const auto& [statement, values] : steps) {
        if (const auto merged = connection_->run(statement, values); !merged.ok()) return merged.error();
      }
    }
    for (const SightingRow& row : other.sightings) {
      const auto added = connection_->run(
          kSeeRace, {row.fingerprint, row.run, number(row.occurrences), row.first_seen, row.last_seen});
      if (!added.ok()) return added.error();
    }
    return {};
  });
}

}  // namespace deadheat
