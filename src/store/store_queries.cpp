// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "store/rows.h"
#include "store/sql_connection.h"
#include "store/store.h"

namespace deadheat {

namespace {

constexpr char kRunColumns[] =
    "u.id, u.mode, u.program, u.arguments, u.machine, u.tool, u.started, u.duration, u.rate, u.effective_rate, "
    "u.overhead, u.status";
constexpr std::size_t kRunColumnCount = 12;

StoredRun run_of(const SqlRow& row) {
  StoredRun run;
  run.id = text_of(row[0]);
  run.mode = text_of(row[1]);
  run.program = text_of(row[2]);
  run.arguments = text_of(row[3]);
  run.machine = text_of(row[4]);
  run.tool = text_of(row[5]);
  run.started = integer_of(row[6]).value_or(0);
  run.duration = integer_of(row[7]);
  run.rate = fraction_of(row[8]);
  run.effective_rate = fraction_of(row[9]);
  run.overhead = fraction_of(row[10]);
  run.status = text_of(row[11]);
  return run;
}

constexpr char kRaceColumns[] =
    "r.fingerprint, r.kind, r.title, r.variable, r.earlier, r.later, r.state, r.state_since, r.note";

constexpr std::size_t kDocumentColumn = 9;  // comes behind them

// A RaceRow or a StoreContent::Race.
template <class Known>
void read_race(const SqlRow& row, Known& known) {
  known.race.fingerprint = text_of(row[0]);
  known.race.kind = text_of(row[1]);
  known.race.title = text_of(row[2]);
  known.race.variable = text_of(row[3]);
  known.race.earlier = text_of(row[4]);
  known.race.later = text_of(row[5]);
  known.state = state_of(text_of(row[6])).value_or(RaceState::kOpen);
  known.state_since = integer_of(row[7]).value_or(0);
  known.note = text_of(row[8]);
  known.race.document = text_of(row[kDocumentColumn]);
}

// Conditions with their parameters, numbered as they come.
class Conditions {
 public:
  // `form` has {} for the parameter, once or several times.
  void add(std::string_view form, SqlValue value) {
    values_.push_back(std::move(value));
    std::string text(form);
    const std::string name = fmt::format("${}", values_.size());
    for (std::size_t at = 0; (at = text.find("{}", at)) != std::string::npos; at += name.size()) {
      text.replace(at, 2, name);
    }
    text_ += (text_.empty() ? " WHERE " : " AND ") + text;
  }
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] const std::vector<SqlValue>& values() const { return values_; }

 private:
  std::string text_;
  std::vector<SqlValue> values_;
};

// %, _ and \ stand for themselves.
std::string like_pattern(const std::string& text) {
  std::string pattern = "%";
  for (const char letter : text) {
    if (letter == '%' || letter == '_' || letter == '\\') pattern += '\\';
    pattern += letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  }
  return pattern + "%";
}

Conditions conditions_of(const RaceFilter& filter) {
  Conditions where;
  if (filter.state) where.add("r.state = {}", std::string(word_of(*filter.state)));
  if (!filter.kind.empty()) where.add("r.kind = {}", filter.kind);
  if (!filter.text.empty()) {
    where.add(
        "(LOWER(r.fingerprint) LIKE {} ESCAPE '\\' OR LOWER(r.title) LIKE {} ESCAPE '\\' OR LOWER(r.variable) LIKE {} "
        "ESCAPE '\\' OR LOWER(r.earlier) LIKE {} ESCAPE '\\' OR LOWER(r.later) LIKE {} ESCAPE '\\')",
        like_pattern(filter.text));
  }
  constexpr char kSeen[] =
      "EXISTS (SELECT 1 FROM sightings x JOIN runs y ON y.id = x.run WHERE x.fingerprint = r.fingerprint AND ";
  if (!filter.mode.empty()) where.add(std::string(kSeen) + "y.mode = {})", filter.mode);
  if (!filter.run.empty()) where.add(std::string(kSeen) + "x.run = {})", filter.run);
  if (filter.seen_since) where.add(std::string(kSeen) + "x.last_seen >= {})", *filter.seen_since);
  if (filter.first_since) {
    where.add("NOT EXISTS (SELECT 1 FROM sightings x WHERE x.fingerprint = r.fingerprint AND x.first_seen < {})",
              *filter.first_since);
  }
  return where;
}

// Adds up what one mode saw of a race.
void add_mode(RaceRow& race, const SqlRow& row) {
  const bool is_first = race.runs == 0;
  race.modes.push_back(text_of(row[1]));
  race.race.occurrences = (is_first ? 0 : race.race.occurrences) + count_of(row[2]);
  race.runs += count_of(row[3]);
  const Microseconds first = integer_of(row[4]).value_or(0);
  const Microseconds last = integer_of(row[5]).value_or(0);
  race.first_seen = is_first ? first : std::min(race.first_seen, first);
  race.last_seen = std::max(race.last_seen, last);
  if (const auto rate = fraction_of(row[6])) race.rate = race.rate ? std::min(*race.rate, *rate) : *rate;
}

constexpr char kByMode[] =
    "SELECT s.fingerprint, u.mode, CAST(SUM(s.occurrences) AS BIGINT), COUNT(*), MIN(s.first_seen), MAX(s.last_seen), "
    "MIN(u.effective_rate) FROM sightings s JOIN runs u ON u.id = s.run GROUP BY s.fingerprint, u.mode "
    "ORDER BY s.fingerprint, u.mode";
constexpr char kFirstRuns[] =
    "SELECT s.fingerprint, s.run FROM sightings s WHERE NOT EXISTS (SELECT 1 FROM sightings x WHERE x.fingerprint = "
    "s.fingerprint AND x.first_seen < s.first_seen)";
constexpr char kLastRuns[] =
    "SELECT s.fingerprint, s.run FROM sightings s WHERE NOT EXISTS (SELECT 1 FROM sightings x WHERE x.fingerprint = "
    "s.fingerprint AND x.first_seen > s.first_seen)";

// So much of an identity as the user typed: it ends up in a statement's parameter, and nowhere else,
// but letters that no identity has are a mistake worth a better answer.
bool is_hexadecimal(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace

std::string_view word_of(RaceState state) {
  switch (state) {
    case RaceState::kResolved:
      return "resolved";
    case RaceState::kIgnored:
      return "ignored";
    case RaceState::kOpen:
      break;
  }
  return "open";
}

std::optional<RaceState> state_of(std::string_view word) {
  for (const RaceState state : {RaceState::kOpen, RaceState::kResolved, RaceState::kIgnored}) {
    if (word == word_of(state)) return state;
  }
  return std::nullopt;
}

Result<std::vector<RaceRow>> Store::races(const RaceFilter& filter) {
  const Conditions where = conditions_of(filter);
  const auto found = connection_->run(fmt::format("SELECT {}, {} FROM races r{}", kRaceColumns,
                                                  filter.with_documents ? "r.document" : "''", where.text()),
                                      where.values());
  if (!found.ok()) return found.error();
  std::vector<RaceRow> rows;
  std::map<std::string, std::size_t> index;
  for (const SqlRow& row : found.value()) {
    RaceRow& race = rows.emplace_back();
    read_race(row, race);
    index.emplace(race.race.fingerprint, rows.size() - 1);
  }
  if (rows.empty()) return rows;
  const auto each = [&](const char* query, const auto& take) -> Status {
    const auto answer = connection_->run(query);
    if (!answer.ok()) return answer.error();
    for (const SqlRow& row : answer.value()) {
      const auto place = index.find(text_of(row[0]));
      if (place != index.end()) take(rows[place->second], row);
    }
    return {};
  };
  if (Status status = each(kByMode, add_mode); !status.ok()) return status.error();
  const auto first = [](RaceRow& race, const SqlRow& row) { race.first_run = text_of(row[1]); };
  if (Status status = each(kFirstRuns, first); !status.ok()) return status.error();
  const auto last = [](RaceRow& race, const SqlRow& row) { race.last_run = text_of(row[1]); };
  if (Status status = each(kLastRuns, last); !status.ok()) return status.error();
  std::sort(rows.begin(), rows.end(), [](const RaceRow& one, const RaceRow& other) {
    return std::tie(other.last_seen, one.race.fingerprint) < std::tie(one.last_seen, other.race.fingerprint);
  });
  return rows;
}

Result<RaceDetails> Store::race(std::string_view fingerprint) {
  if (!is_hexadecimal(fingerprint)) {
    return Error{ErrorCode::kInvalid,
                 fmt::format("'{}' is no fingerprint; 'deadheat races list' shows them", fingerprint)};
  }
  auto found = connection_->run("SELECT fingerprint FROM races WHERE fingerprint LIKE $1 ORDER BY fingerprint",
                                {std::string(fingerprint) + "%"});
  if (!found.ok()) return found.error();
  if (found.value().empty()) {
    found = connection_->run("SELECT fingerprint FROM races WHERE document LIKE $1 ORDER BY fingerprint",
                             {fmt::format("%\"aliases\":[\"{}%", fingerprint)});
    if (!found.ok()) return found.error();
  }
  if (found.value().empty()) {
    return Error{ErrorCode::kInvalid,
                 fmt::format("the store has no race '{}'; 'deadheat races list' shows them", fingerprint)};
  }
  if (found.value().size() > 1) {
    return Error{
        ErrorCode::kInvalid,
        fmt::format("'{}' is the beginning of {} fingerprints ('{}', '{}', ...); write more of it", fingerprint,
                    found.value().size(), text_of(found.value()[0][0]), text_of(found.value()[1][0]))};
  }
  const std::string whole = text_of(found.value()[0][0]);
  RaceDetails details;
  RaceFilter filter;
  filter.text = whole;
  filter.with_documents = true;
  const auto rows = races(filter);
  if (!rows.ok()) return rows.error();
  for (const RaceRow& row : rows.value()) {
    if (row.race.fingerprint == whole) details.row = row;
  }
  const auto history = connection_->run(
      fmt::format("SELECT {}, s.occurrences, s.first_seen, s.last_seen FROM sightings s JOIN runs u ON u.id = s.run "
                  "WHERE s.fingerprint = $1 ORDER BY s.first_seen, u.id",
                  kRunColumns),
      {whole});
  if (!history.ok()) return history.error();
  for (const SqlRow& row : history.value()) {
    RaceDetails::Seen& seen = details.history.emplace_back();
    seen.run = run_of(row);
    seen.sighting = {whole, seen.run.id, count_of(row[kRunColumnCount]),
                     integer_of(row[kRunColumnCount + 1]).value_or(0),
                     integer_of(row[kRunColumnCount + 2]).value_or(0)};
  }
  return details;
}

Result<std::vector<RunRow>> Store::runs(std::size_t limit) {
  const std::string end = limit == 0 ? "" : fmt::format(" LIMIT {}", limit);
  const auto found = connection_->run(fmt::format(
      "SELECT {}, (SELECT COUNT(*) FROM sightings s WHERE s.run = u.id), "
      "(SELECT COUNT(*) FROM sightings s WHERE s.run = u.id AND NOT EXISTS (SELECT 1 FROM sightings x WHERE "
      "x.fingerprint = s.fingerprint AND x.first_seen < s.first_seen)) "
      "FROM runs u ORDER BY u.started DESC, u.id{}",
      kRunColumns, end));
  if (!found.ok()) return found.error();
  std::vector<RunRow> rows;
  for (const SqlRow& row : found.value()) {
    rows.push_back({run_of(row), count_of(row[kRunColumnCount]), count_of(row[kRunColumnCount + 1])});
  }
  return rows;
}

Result<RunRow> Store::run(std::string_view name) {
  const auto all = runs(name == "latest" ? 1 : name == "previous" ? 2 : 0);
  if (!all.ok()) return all.error();
  const std::vector<RunRow>& rows = all.value();
  const Error missing{ErrorCode::kInvalid,
                      fmt::format("the store has no run '{}'; 'deadheat races runs' shows them", name)};
  if (name == "latest" || name == "previous") {
    const std::size_t at = name == "latest" ? 0 : 1;
    return at < rows.size() ? Result<RunRow>(rows[at]) : Result<RunRow>(missing);
  }
  const RunRow* match = nullptr;
  for (const RunRow& row : rows) {
    if (!is_hexadecimal(name) || !row.run.id.starts_with(name)) continue;
    if (match != nullptr) {
      return Error{ErrorCode::kInvalid, fmt::format("'{}' is the beginning of several runs; write more of it", name)};
    }
    match = &row;
  }
  return match == nullptr ? Result<RunRow>(missing) : Result<RunRow>(*match);
}

Result<StoreContent> Store::content() {
  StoreContent content;
  // One transaction: a sighting whose run is missing would not be accepted elsewhere.
  const Status status = connection_->transaction(SqlLock::kSnapshot, [&]() -> Status {
    content = {};
    const auto runs = connection_->run(fmt::format("SELECT {} FROM runs u ORDER BY u.started, u.id", kRunColumns));
    if (!runs.ok()) return runs.error();
    for (const SqlRow& row : runs.value()) content.runs.push_back(run_of(row));
    const auto races = connection_->run(
        fmt::format("SELECT {}, r.document, r.document_time FROM races r ORDER BY r.fingerprint", kRaceColumns));
    if (!races.ok()) return races.error();
    for (const SqlRow& row : races.value()) {
      StoreContent::Race& race = content.races.emplace_back();
      read_race(row, race);
      race.document_time = integer_of(row[kDocumentColumn + 1]).value_or(0);
    }
    const auto sightings = connection_->run(
        "SELECT fingerprint, run, occurrences, first_seen, last_seen FROM sightings ORDER BY first_seen, fingerprint, "
        "run");
    if (!sightings.ok()) return sightings.error();
    for (const SqlRow& row : sightings.value()) {
      content.sightings.push_back({text_of(row[0]), text_of(row[1]), count_of(row[2]), integer_of(row[3]).value_or(0),
                                   integer_of(row[4]).value_or(0)});
    }
    return {};
  });
  if (!status.ok()) return status.error();
  return content;
}

Result<std::uint64_t> Store::change_count() {
  const auto found = connection_->run(
      "SELECT (SELECT COUNT(*) FROM runs), (SELECT COUNT(*) FROM runs WHERE duration IS NULL), "
      "(SELECT MAX(last_seen) FROM sightings), (SELECT MAX(state_since) FROM races)");
  if (!found.ok()) return found.error();
  std::uint64_t mixed = 1469598103934665603ULL;
  for (const SqlValue& value : found.value()[0]) mixed = (mixed ^ count_of(value)) * 1099511628211ULL;
  return mixed;
}

}  // namespace deadheat
