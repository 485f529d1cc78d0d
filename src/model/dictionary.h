// SPDX-License-Identifier: Apache-2.0
// Dictionary: what the numbers of a trace or run stand for. Reports read it;
// detectors never do.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "model/identity.h"
#include "model/site.h"

namespace deadheat {

// A named stretch of memory: a global, a variable of an imported trace.
struct NamedRange {
  std::uint64_t size = 0;
  std::string name;
  friend bool operator==(const NamedRange&, const NamedRange&) = default;
};

struct Dictionary {
  SiteTable sites;
  std::map<Address, NamedRange> ranges;  // by first address; ranges do not overlap
  std::map<SyncId, std::string> syncs;
  std::map<ThreadId, std::string> threads;

  friend bool operator==(const Dictionary&, const Dictionary&) = default;
};

}  // namespace deadheat
