// SPDX-License-Identifier: Apache-2.0
// A hunt as one JSON document for machines; docs/hunting.md describes it. Races are those
// of docs/report.schema.json with some members more.
#pragma once

#include <string>

#include "cli/hunt_ledger.h"
#include "cli/hunt_state.h"

namespace deadheat {

[[nodiscard]] std::string format_hunt_json(const HuntLedger& ledger, const HuntSetup& setup);

}  // namespace deadheat
