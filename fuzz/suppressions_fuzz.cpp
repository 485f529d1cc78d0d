// SPDX-License-Identifier: Apache-2.0
// The first line is a pattern, the rest is the text that it is tried on, and all
// of it is a suppression file. The matcher must agree with a plain backtracking
// one.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "report/suppressions.h"

using namespace deadheat;

namespace {

// '*' is any text; both ends are tied.
bool matches_plainly(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern.front() == '*') {
    return matches_plainly(pattern.substr(1), text) || (!text.empty() && matches_plainly(pattern, text.substr(1)));
  }
  return !text.empty() && text.front() == pattern.front() && matches_plainly(pattern.substr(1), text.substr(1));
}

bool expected_match(std::string_view pattern, std::string_view text) {
  const bool at_start = pattern.starts_with('^');
  if (at_start) pattern.remove_prefix(1);
  const bool at_end = pattern.ends_with('$');
  if (at_end) pattern.remove_suffix(1);
  return matches_plainly((at_start ? "" : "*") + std::string(pattern) + (at_end ? "" : "*"), text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  Suppressions suppressions;
  const Status status = suppressions.add(input, "file");
  DEADHEAT_CHECK(status.ok() || status.error().message.starts_with("file:"));
  const std::string_view pattern = input.substr(0, input.find('\n'));
  const std::string_view text = pattern.size() == input.size() ? "" : input.substr(pattern.size() + 1);
  // The plain matcher takes exponential time.
  if (pattern.size() <= 8 && text.size() <= 16) {
    DEADHEAT_CHECK(matches_pattern(pattern, text) == expected_match(pattern, text));
  }
  return 0;
}
