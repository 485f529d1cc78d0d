// SPDX-License-Identifier: Apache-2.0
#include "report/race_record.h"

#include "report/describe.h"
#include "report/fingerprint.h"
#include "report/json_parts.h"
#include "report/json_text.h"

namespace deadheat {

namespace {

Sighting sighting_with(const Finding& finding, const Dictionary& dictionary) {
  Sighting seen;
  seen.kind = identifier_of(finding.kind);
  seen.title = title_of(finding.kind);
  if (const auto place = name_of(finding.address, dictionary)) seen.variable = printable(place->name);
  seen.earlier = innermost_place(finding.earlier, dictionary);
  seen.later = innermost_place(finding.later, dictionary);
  seen.occurrences = finding.occurrences;
  seen.old_fingerprint = old_fingerprint_of(finding, dictionary);
  return seen;
}

}  // namespace

Sighting sighting_of(const LiveRace& race) {
  Sighting seen = sighting_with(race.live.finding, race.live.dictionary);
  seen.fingerprint = race.fingerprint;
  seen.document = one_line_of(race_of(race));
  return seen;
}

Sighting sighting_of(const Finding& finding, const Dictionary& dictionary, const AccessContext* context) {
  Sighting seen = sighting_with(finding, dictionary);
  seen.fingerprint = fingerprint_of(finding, dictionary);
  seen.document = one_line_of(finding_of(finding, dictionary, context));
  return seen;
}

}  // namespace deadheat
