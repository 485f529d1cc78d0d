// SPDX-License-Identifier: Apache-2.0
// The parts that versions before 2 of fingerprints were made of: both sides, and no memory. Stores, baselines and CI
// systems have them.
#include "report/fingerprint.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "report/describe.h"

namespace deadheat {

namespace {

// The line within its function where both are known; '+' keeps it apart from an
// absolute one.
std::string old_line_of(const Site& site) {
  const bool is_relative = site.function_line != 0 && site.line >= site.function_line;
  return is_relative ? fmt::format("+{}", site.line - site.function_line) : fmt::format("{}", site.line);
}

// Fields are separated by a byte that names do not contain, so that "ab" + "c"
// and "a" + "bc" differ.
std::string old_identity_of(const RacingAccess& access, Address address, const Dictionary& dictionary) {
  const Site& site = dictionary.sites[access.site];
  const std::string_view kind = identifier_of(access.kind);
  if (!site.function.empty() || (!site.file.empty() && site.module.empty())) {
    return fmt::format("{}\nsource\n{}\n{}\n{}", kind, site.function, base_name(site.file), old_line_of(site));
  }
  if (!site.module.empty()) return fmt::format("{}\nmodule\n{}\n{:x}", kind, base_name(site.module), site.offset);
  const auto place = name_of(address, dictionary);
  return fmt::format("{}\nvariable\n{}", kind, place ? place->name : "");
}

}  // namespace

std::string old_fingerprint_of(const Finding& finding, const Dictionary& dictionary) {
  std::string one = old_identity_of(finding.earlier, finding.address, dictionary);
  std::string other = old_identity_of(finding.later, finding.address, dictionary);
  if (other < one) std::swap(one, other);
  return fingerprint_of(one + "\n\n" + other);
}

}  // namespace deadheat
