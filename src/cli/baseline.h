// SPDX-License-Identifier: Apache-2.0
// Baseline: the races that are known, which do not fail a build.
//
// Reports and stores of versions whose fingerprints did not look at the memory have documents of
// their races, of which the present fingerprints are made anew. A SARIF file has only the old names: there
// a race is known by its old name, unless several races of the report have that one.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "report/fingerprint.h"
#include "store/records.h"

namespace deadheat {

struct RaceName {
  std::string fingerprint;
  std::string old_fingerprint;  // empty: not known
};

class Baseline {
 public:
  // A report (JSON or SARIF), or a store (a file, a URL, an export), of which those count that are not
  // resolved. Errors: kIo, kMalformed; those of Store.
  static Result<Baseline> read(const std::string& place);

  // Tells of each of the races of one report whether it is known.
  [[nodiscard]] std::vector<bool> known_of(const std::vector<RaceName>& races) const;
  // The same of one alone.
  [[nodiscard]] bool knows(const RaceName& race) const { return known_of({race}).front(); }
  // How many races have an old name that the baseline has and that says too little.
  [[nodiscard]] std::size_t ambiguous(const std::vector<RaceName>& races) const;

 private:
  friend class BaselineReader;
  [[nodiscard]] bool has_old(const RaceName& race) const { return old_.contains(race.old_fingerprint); }

  KnownFingerprints known_;
  std::set<std::string> old_;
};

}  // namespace deadheat
