// SPDX-License-Identifier: Apache-2.0
// Text traces in memory (TEXT_FORMAT.md), for tests and examples; text_format.h
// opens files.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/dictionary.h"
#include "model/event.h"

namespace deadheat {

struct ParsedTrace {
  std::vector<Event> events;
  Dictionary dictionary;
};

// Errors: kMalformed with the line number. A bad last line is an error, with or
// without its newline.
Result<ParsedTrace> parse_text_trace(std::string_view text);

}  // namespace deadheat
