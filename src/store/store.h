// SPDX-License-Identifier: Apache-2.0
// Store: the races of all runs, in SQLite (a file) or PostgreSQL (a server), with the
// same tables and the same statements; sql_connection.h hides the difference.
//
// Many processes may use one store at once. Every function that writes is one
// transaction: when it returns without an error, what it wrote is on disk and survives
// the end of this process, of any other one, and of the machine.
//
// Not safe for several threads of one process at once: open one Store per thread.
// All errors are kIo (the database refused, or is busy for too long), kUnsupported
// (written by a newer deadheat) or kInvalid (a fingerprint or run that is not there).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/records.h"
#include "store/store_address.h"

namespace deadheat {

class SqlConnection;

enum class StoreAccess : std::uint8_t {
  kWrite,  // made if it is not there
  kRead,   // must be there
};

struct RaceFilter {
  std::optional<RaceState> state;
  std::string kind;                         // exactly; empty: any
  std::string text;                         // in fingerprint, title, variable or a place; empty: any
  std::string mode;                         // seen in a run of this mode; empty: any
  std::string run;                          // seen in this run; empty: any
  std::optional<Microseconds> seen_since;   // last seen then or later
  std::optional<Microseconds> first_since;  // first seen then or later: new
  bool with_documents = false;              // fill race.document: it is by far the largest part
};

// A race's present name and document, of its document; nothing if they stay.
struct RenewedRace {
  std::string fingerprint;
  std::string document;
};
using RaceRenewal = std::function<std::optional<RenewedRace>(const std::string& document)>;

class Store {
 public:
  // A path, or "postgresql://user@host:port/database" (store_address.h has the other forms). Brings the
  // tables up to date when writing. kInvalid: see check_address().
  static Result<Store> open(const std::string& place, StoreAccess access);

  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;
  ~Store();

  // To be shown: without a password.
  [[nodiscard]] const std::string& place() const { return place_; }

  // A run has begun; yields its id.
  Result<std::string> begin(const StoredRun& run);
  // A run saw a race. Again for the same pair: occurrences become the larger of the two, the
  // document is replaced. A race that was resolved is open again, an ignored one stays so.
  Status add(const std::string& run, const Sighting& sighting);
  Status add(const std::string& run, const std::vector<Sighting>& sightings);
  // How a run ended: everything from `duration` on.
  Status finish(const StoredRun& run);

  // The newest race first (by last seen).
  [[nodiscard]] Result<std::vector<RaceRow>> races(const RaceFilter& filter);
  // By fingerprint or the beginning of one, which must be that of one race only.
  [[nodiscard]] Result<RaceDetails> race(std::string_view fingerprint);
  // Newest first, at most so many (0: all).
  [[nodiscard]] Result<std::vector<RunRow>> runs(std::size_t limit = 0);
  // By id or the beginning of one, or "latest", "previous".
  [[nodiscard]] Result<RunRow> run(std::string_view name);

  // The user's verdict.
  Status set_state(std::string_view fingerprint, RaceState state, const std::string& note);

  // Gives the races of older versions the names and documents that `renewal` makes of their documents.
  Status renew(const RaceRenewal& renewal);

  [[nodiscard]] Result<StoreContent> content();
  // Adds what is not here yet. Doing it again changes nothing. The newer verdict on a race wins.
  Status merge(const StoreContent& other);

  // Changes with every write by anybody, for those who wait for news.
  [[nodiscard]] Result<std::uint64_t> change_count();

 private:
  Store(std::string place, std::unique_ptr<SqlConnection> connection);

  std::string place_;
  std::unique_ptr<SqlConnection> connection_;
};

[[nodiscard]] Microseconds now_in_microseconds();
inline constexpr char kDefaultStore[] = ".deadheat/races.db";

}  // namespace deadheat
