// SPDX-License-Identifier: Apache-2.0
// Pieces of JSON documents that more than one writer has. For their sources only: the
// library behind it is slow to compile.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "model/site.h"
#include "report/access_census.h"
#include "report/live_report.h"
#include "report/source_files.h"

namespace deadheat {

[[nodiscard]] nlohmann::ordered_json frame_of(const Site& site);

// A race of a trace, as in "findings" of docs/report.schema.json; `context` may be null. Without source lines.
[[nodiscard]] nlohmann::ordered_json finding_of(const Finding& finding, const Dictionary& dictionary,
                                                const AccessContext* context = nullptr);

// A race of a running program, as in "findings" of docs/report.schema.json, with the
// source lines that can be read now.
[[nodiscard]] nlohmann::ordered_json race_of(const LiveRace& race, SourceFiles& sources);
[[nodiscard]] nlohmann::ordered_json race_of(const LiveRace& race);

// The lines of the places that a finding names: "snippets" of a finding.
[[nodiscard]] nlohmann::ordered_json snippets_of(const nlohmann::ordered_json& finding, SourceFiles& sources);

}  // namespace deadheat
