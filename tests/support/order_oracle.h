// SPDX-License-Identifier: Apache-2.0
// OrderOracle: for a whole small trace, what was true at each event: what its
// thread had seen, its open calls and its locks. Answers whether a reported
// pair of accesses is a race, independently of any detector's shadow.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/reference_order.h"
#include "model/event.h"
#include "model/finding.h"

namespace deadheat {

class OrderOracle {
 public:
  OrderOracle(std::span<const Event> trace, ReleaseSequences release_sequences);

  // Empty if the finding is true in every detail, else what is wrong with it.
  // The trace's accesses must have the sites that site_of_event gives them.
  [[nodiscard]] std::string refute(const Finding& finding) const;

 private:
  struct Moment {
    ReferenceOrder::Clock seen;
    std::vector<SiteId> calls;
    std::vector<HeldLock> locks;
  };

  [[nodiscard]] std::string refute_side(const RacingAccess& access, std::uint64_t index) const;

  std::span<const Event> trace_;
  std::vector<Moment> moments_;
};

// A site for each event of a trace, so that a finding names its two events.
inline SiteId site_of_event(std::uint64_t index) { return SiteId{static_cast<std::uint32_t>(index + 1)}; }
inline std::uint64_t event_of_site(SiteId site) { return raw(site) - 1; }

}  // namespace deadheat
