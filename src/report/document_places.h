// SPDX-License-Identifier: Apache-2.0
// Where a race is, as the formats for other tools want to know it. For their sources only.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "report/race_formats.h"

namespace deadheat {

// A document, or an empty object if it is none.
[[nodiscard]] nlohmann::ordered_json document_of(const RaceReport::Entry& entry);

// `file` relative to the root if it is below it.
[[nodiscard]] std::string relative_file(const std::string& file, const std::string& root);

// The frame of a side that the user wants to see: the innermost one in a file below the root, or
// in any file; null if no frame has a file.
[[nodiscard]] const nlohmann::ordered_json* shown_frame(const nlohmann::ordered_json& side, const std::string& root);

// "write-write race on balance".
[[nodiscard]] std::string headline_of(const Sighting& race);
// "write of 8 bytes by thread 2 (teller) in deposit".
[[nodiscard]] std::string side_words(const nlohmann::ordered_json& side);
// "deposit bank.cpp:42".
[[nodiscard]] std::string frame_words(const nlohmann::ordered_json& frame, const std::string& root);

}  // namespace deadheat
