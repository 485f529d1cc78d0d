// SPDX-License-Identifier: Apache-2.0
// ShortestRaces: for a whole small trace, the definition that PACER's guarantee is
// about, worked out by brute force: for each access b and each of its bytes, the
// last access that b races with there, and whether that one was sampled.
//
// Happens-before is ReferenceOrder's; nothing is shared with the detector.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "core/sync_clock.h"
#include "model/event.h"

namespace deadheat {

class ShortestRaces {
 public:
  // Sampled are the accesses between SamplingBegin and SamplingEnd of their thread.
  ShortestRaces(std::span<const Event> trace, ReleaseSequences release_sequences);

  // The bytes on which the event is the second access of a sampled shortest race.
  [[nodiscard]] const std::vector<Address>& sampled_at(std::uint64_t event) const { return sampled_[event]; }

  // All bytes that have a race, sampled or not.
  [[nodiscard]] const std::set<Address>& racy_bytes() const { return racy_; }

 private:
  std::vector<std::vector<Address>> sampled_;  // by event
  std::set<Address> racy_;
};

}  // namespace deadheat
