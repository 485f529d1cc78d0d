// SPDX-License-Identifier: Apache-2.0
#include "report/store_upgrade.h"

#include <map>

#include "report/json_parts.h"
#include "report/json_text.h"
#include "report/race_record.h"

namespace deadheat {

std::optional<RenewedRace> renewed(const std::string& document) {
  nlohmann::ordered_json parsed = parse_json(document);
  if (!parsed.is_object() || parsed.contains("aliases")) return std::nullopt;
  const std::string old = text_member(parsed, "fingerprint");
  const auto race = race_of_document(document);
  if (!race.ok() || old.empty() || race.value().fingerprint == old) return std::nullopt;
  parsed["fingerprint"] = race.value().fingerprint;
  parsed["aliases"] = {old};
  return RenewedRace{race.value().fingerprint, one_line_of(parsed)};
}

Status upgrade(Store& store) { return store.renew(renewed); }

void upgrade(StoreContent& content) {
  std::map<std::string, std::string> names;
  for (StoreContent::Race& known : content.races) {
    const auto now = renewed(known.race.document);
    if (!now) continue;
    names[known.race.fingerprint] = now->fingerprint;
    known.race.fingerprint = now->fingerprint;
    known.race.document = now->document;
  }
  for (SightingRow& row : content.sightings) {
    if (const auto name = names.find(row.fingerprint); name != names.end()) row.fingerprint = name->second;
  }
}

}  // namespace deadheat
