// SPDX-License-Identifier: Apache-2.0
// A counter per rule: how often each kind of access took each step of
// access_rules.h. Frees count as writes.
#pragma once

#include <cstdint>
#include <vector>

#include "core/access_rules.h"
#include "core/detector.h"

namespace deadheat {

class RuleCounters {
 public:
  void count(AccessKind history, RuleStep step) { ++counts_[raw(history)][raw(step)]; }

  [[nodiscard]] std::vector<Counter> list() const {
    static constexpr const char* kNames[4][kRuleStepCount] = {
        {"read same epoch", "read exclusive", "read share", "read shared"},
        {"write same epoch", "write exclusive", nullptr, "write shared"},
        {"atomic read same epoch", "atomic read exclusive", "atomic read share", "atomic read shared"},
        {"atomic write same epoch", "atomic write exclusive", "atomic write share", "atomic write shared"},
    };
    std::vector<Counter> result;
    for (int history = 0; history < 4; ++history) {
      for (int step = 0; step < kRuleStepCount; ++step) {
        // Plain writes are never kept as a set, so they do not become one.
        if (kNames[history][step] == nullptr) continue;
        result.push_back(Counter{kNames[history][step], counts_[history][step]});
      }
    }
    return result;
  }

 private:
  std::uint64_t counts_[4][kRuleStepCount] = {};
};

}  // namespace deadheat
