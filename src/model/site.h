// SPDX-License-Identifier: Apache-2.0
// Site: a place in the code. A trace or a run numbers its sites; this is what a
// number stands for. Any field may be unknown (empty or 0); what is known is
// enough to print. `module` + `offset` come from live processes and survive
// ASLR, `function`/`file`/`line` from symbolisation or from text traces.
// `function_line`, the line on which the function begins, makes lines that stay
// the same when code above the function is edited. A function that the compiler
// inlined is a site of its own, at the same offset as its caller; traces keep the
// innermost only, and no columns.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/raw.h"
#include "model/identity.h"

namespace deadheat {

struct Site {
  std::string function;
  std::string file;
  std::uint32_t line = 0;
  std::string module;
  std::uint64_t offset = 0;
  std::uint32_t function_line = 0;
  bool is_inlined = false;
  std::uint32_t column = 0;  // from 1, where debug information has it

  friend bool operator==(const Site&, const Site&) = default;
};

// Sites by number. Number 0 is SiteId::kUnknown and holds an empty site.
class SiteTable {
 public:
  SiteTable() : sites_(1) {}

  [[nodiscard]] const Site& operator[](SiteId id) const {
    return raw(id) < sites_.size() ? sites_[raw(id)] : sites_[0];
  }
  // The next number in sequence.
  SiteId add(Site site) {
    sites_.push_back(std::move(site));
    return SiteId{static_cast<std::uint32_t>(sites_.size() - 1)};
  }
  // One past the last number.
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(sites_.size()); }

  friend bool operator==(const SiteTable&, const SiteTable&) = default;

 private:
  std::vector<Site> sites_;
};

}  // namespace deadheat
