// SPDX-License-Identifier: Apache-2.0
// The page that shows races in a browser: src/report/html, as one file that needs nothing
// else (no network, no library), or as the parts that `deadheat serve` hands out.
//
// The report is in the page as JSON, and its script makes elements of it. Names, paths
// and source lines are whatever somebody's program says; they can end no element and
// start none: '<', '>' and '&' of the JSON are written as \u003c and so on, the script
// makes text nodes only, and a content security policy refuses every script but ours.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace deadheat {

// Of a document as docs/report.schema.json has it, or one of a hunt. Errors: kMalformed (no JSON), kInvalid (no
// report).
[[nodiscard]] Result<std::string> format_html_page(std::string_view report);

// The page that asks a server for its races, and what it loads from there.
[[nodiscard]] std::string served_page();
[[nodiscard]] std::string_view served_style();
[[nodiscard]] std::string_view served_script();
// Names of the two below "/".
inline constexpr std::string_view kStylePath = "/page.css";
inline constexpr std::string_view kScriptPath = "/page.js";

}  // namespace deadheat
