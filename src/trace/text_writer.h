// SPDX-License-Identifier: Apache-2.0
// Events and traces as text in memory (TEXT_FORMAT.md); text_format.h creates
// files.
#pragma once

#include <span>
#include <string>

#include "base/result.h"
#include "model/dictionary.h"
#include "model/event.h"

namespace deadheat {

// A whole trace; parse_text_trace() gives back exactly the same. Errors: kInvalid
// (a broken event, overlapping ranges, a name of many kilobytes).
Result<std::string> write_text_trace(std::span<const Event> events, const Dictionary& dictionary);

// One event in words for messages, with every name the dictionary has and the
// site spelt out: "1 write balance 8 @bank.cpp:12(deposit)". The text is for
// people; with odd names it need not parse.
[[nodiscard]] std::string to_text(const Event& event, const Dictionary& dictionary);

}  // namespace deadheat
