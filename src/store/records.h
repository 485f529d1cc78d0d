// SPDX-License-Identifier: Apache-2.0
// What the store keeps: runs, races, and which run saw which race how often.
//
// A race is known by its fingerprint, a run by a random number that is unique on all
// machines: so stores can be merged, twice as well as once. Times are microseconds since
// 1970 (UTC). Unknown numbers are absent, unknown texts empty. Texts are UTF-8 without NUL.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace deadheat {

using Microseconds = std::int64_t;

struct StoredRun {
  std::string id;         // 32 hexadecimal digits; Store::begin() chooses it
  std::string mode;       // "run", "report", "hunt", "watch", "analyze"
  std::string program;    // path of the program, or of the trace or raw file
  std::string arguments;  // of the program: a JSON array of strings, or empty
  std::string machine;    // host name
  std::string tool;       // version of deadheat
  Microseconds started = 0;

  // As far as known; complete after Store::finish().
  std::optional<Microseconds> duration;
  std::optional<double> rate;            // asked for, 0 to 1; absent: everything is checked
  std::optional<double> effective_rate;  // reached, 0 to 1
  std::optional<double> overhead;        // share of the time that detection took, 0 to 1
  std::string status;                    // "running", "exit 0", "signal 9", "done", ...
};

// A race as one run saw it.
struct Sighting {
  std::string fingerprint;
  std::string kind;      // "write-write", ...: "kind" of docs/report.schema.json
  std::string title;     // the kind in words
  std::string variable;  // its name, or empty
  std::string earlier;   // where: "deposit bank.cpp:42"
  std::string later;
  std::uint64_t occurrences = 1;
  std::string document;  // one element of "findings" of docs/report.schema.json, as text
  // By versions whose fingerprints did not look at the memory. In the document, too.
  std::string old_fingerprint = {};
};

enum class RaceState : std::uint8_t { kOpen, kResolved, kIgnored };
[[nodiscard]] std::string_view word_of(RaceState state);
[[nodiscard]] std::optional<RaceState> state_of(std::string_view word);

// A race with all that the runs together say about it.
struct RaceRow {
  Sighting race;  // newest texts and document; occurrences of all runs together
  RaceState state = RaceState::kOpen;
  Microseconds state_since = 0;  // 0: always
  std::string note;              // the user's words on the state
  Microseconds first_seen = 0;
  Microseconds last_seen = 0;
  std::string first_run;
  std::string last_run;
  std::uint64_t runs = 0;          // that saw it
  std::vector<std::string> modes;  // of those runs, sorted, each once
  std::optional<double> rate;      // the lowest effective rate at which it was seen; absent: full
};

// How one run saw one race.
struct SightingRow {
  std::string fingerprint;
  std::string run;
  std::uint64_t occurrences = 0;
  Microseconds first_seen = 0;
  Microseconds last_seen = 0;
};

struct RaceDetails {
  RaceRow row;
  struct Seen {
    StoredRun run;
    SightingRow sighting;
  };
  std::vector<Seen> history;  // oldest first
};

// A run as the list of runs shows it.
struct RunRow {
  StoredRun run;
  std::uint64_t races = 0;      // distinct, seen in it
  std::uint64_t new_races = 0;  // of them, seen in no run before
};

// All of a store: to export and merge.
struct StoreContent {
  struct Race {
    Sighting race;  // occurrences unused
    RaceState state = RaceState::kOpen;
    Microseconds state_since = 0;
    std::string note;
    Microseconds document_time = 0;  // when the newest document was written
  };
  std::vector<StoredRun> runs;
  std::vector<Race> races;
  std::vector<SightingRow> sightings;
};

}  // namespace deadheat
