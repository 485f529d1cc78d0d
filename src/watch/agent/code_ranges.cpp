// SPDX-License-Identifier: Apache-2.0
#include "watch/agent/code_ranges.h"

#include "watch/agent/system.h"

namespace deadheat::watch {

constinit CodeRanges code_ranges;

bool CodeRanges::refresh() {
  const std::uint32_t before = count_.load(std::memory_order_relaxed);
  for_each_mapping(
      [](const Mapping& mapping, void* context) {
        auto& self = *static_cast<CodeRanges*>(context);
        if (!mapping.is_executable || self.has(mapping.begin)) return true;
        const std::uint32_t count = self.count_.load(std::memory_order_relaxed);
        if (count == kMostRanges) return false;
        self.ranges_[count] = {mapping.begin, mapping.end};
        self.count_.store(count + 1, std::memory_order_release);  // pairs with has()
        return true;
      },
      this);
  return count_.load(std::memory_order_relaxed) != before;
}

}  // namespace deadheat::watch
