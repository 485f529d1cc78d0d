// SPDX-License-Identifier: Apache-2.0
#include "cli/baseline.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "report/file_content.h"
#include "report/json_parts.h"
#include "report/json_text.h"
#include "report/race_record.h"
#include "store/store.h"

namespace deadheat {

namespace {

using BaselineJson = nlohmann::ordered_json;

constexpr char kSarifName[] = "deadheatRace/v2";
constexpr char kOldSarifName[] = "deadheatRace/v1";

std::map<std::string, std::size_t> count_old_names(const std::vector<RaceName>& races) {
  std::map<std::string, std::size_t> counts;
  for (const RaceName& race : races) ++counts[race.old_fingerprint];
  return counts;
}

}  // namespace

class BaselineReader {
 public:
  Status add_store(const std::string& place) {
    auto store = Store::open(place, StoreAccess::kRead);
    if (!store.ok()) return store.error();
    RaceFilter filter;
    filter.with_documents = true;
    const auto races = store.value().races(filter);
    if (!races.ok()) return races.error();
    for (const RaceRow& row : races.value()) {
      if (row.state != RaceState::kResolved) add(row.race.document, row.race.fingerprint);
    }
    return {};
  }

  // False: the document is neither a report nor an export.
  bool add_document(const BaselineJson& document) {
    bool is_recognised = false;
    for (const char* const list : {"findings", "races"}) {
      if (!document.contains(list)) continue;
      is_recognised = true;
      add_list(document[list]);
    }
    if (!document.contains("runs") || !document["runs"].is_array()) return is_recognised;
    for (const BaselineJson& run : document["runs"]) {
      if (!run.is_object() || !run.contains("results")) continue;
      is_recognised = true;
      add_list(run["results"]);
    }
    return is_recognised;
  }

  Baseline baseline;

 private:
  // As the document of the race says it, if it can be read.
  void add(const std::string& document, const std::string& fingerprint) {
    const auto race = race_of_document(document);
    baseline.known_.add(race.ok() && !race.value().fingerprint.empty() ? race.value().fingerprint : fingerprint);
  }

  void add_list(const BaselineJson& list) {
    if (!list.is_array()) return;
    for (const BaselineJson& one : list) {
      if (!one.is_object() || one.value("state", "") == std::string("resolved")) continue;
      if (one.contains("fingerprint") && one["fingerprint"].is_string()) {
        const bool is_export = one.contains("document") && one["document"].is_object();
        add(one_line_of(is_export ? one["document"] : one), one["fingerprint"].get<std::string>());
      }
      if (!one.contains("partialFingerprints") || !one["partialFingerprints"].is_object()) continue;
      const BaselineJson& names = one["partialFingerprints"];
      if (const std::string name = text_member(names, kSarifName); !name.empty()) {
        baseline.known_.add(name);
      } else if (const std::string old = text_member(names, kOldSarifName); !old.empty()) {
        baseline.old_.insert(old);
      }
    }
  }
};

Result<Baseline> Baseline::read(const std::string& place) {
  BaselineReader reader;
  const auto of_store = [&]() -> Result<Baseline> {
    const Status status = reader.add_store(place);
    if (!status.ok()) return status.error();
    return std::move(reader.baseline);
  };
  if (is_postgres_url(place)) return of_store();
  const auto content = file_content(place);
  if (!content.ok()) {
    return Error{ErrorCode::kIo, fmt::format("cannot read the baseline '{}': {}", place, content.error().message)};
  }
  if (content.value().starts_with("SQLite format 3")) return of_store();
  const BaselineJson document = parse_json(content.value());
  if (!document.is_object() || !reader.add_document(document)) {
    return Error{ErrorCode::kMalformed,
                 fmt::format("the baseline '{}' is neither a report (JSON, SARIF) nor a store", place)};
  }
  return std::move(reader.baseline);
}

std::vector<bool> Baseline::known_of(const std::vector<RaceName>& races) const {
  const std::map<std::string, std::size_t> counts = count_old_names(races);
  std::vector<bool> known;
  for (const RaceName& race : races) {
    known.push_back(known_.contains(race.fingerprint) || (has_old(race) && counts.at(race.old_fingerprint) == 1));
  }
  return known;
}

std::size_t Baseline::ambiguous(const std::vector<RaceName>& races) const {
  const std::map<std::string, std::size_t> counts = count_old_names(races);
  return static_cast<std::size_t>(std::ranges::count_if(races, [&](const RaceName& race) {
    return has_old(race) && counts.at(race.old_fingerprint) > 1 && !known_.contains(race.fingerprint);
  }));
}

}  // namespace deadheat
