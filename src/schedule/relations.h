// SPDX-License-Identifier: Apache-2.0
// The may-trigger relations of a run file: a hash set with linear probing, in place. At
// most half of its places are used, so that a search is short; what comes later is lost
// and counted. Nothing of a file is believed: a full table ends a search too.
#pragma once

#include <cstdint>

#include "schedule/run_file.h"

namespace deadheat::schedule {

inline constexpr std::uint32_t kMostRelations = kRelationPlaces / 2;

[[nodiscard]] constexpr std::uint32_t home_of(std::uint64_t relation) {
  return static_cast<std::uint32_t>(relation >> 20) & (kRelationPlaces - 1);
}

[[nodiscard]] inline bool has_relation(const RunFile& file, std::uint64_t relation) {
  for (std::uint32_t step = 0; step < kRelationPlaces; ++step) {
    const std::uint64_t found = file.relations[(home_of(relation) + step) & (kRelationPlaces - 1)];
    if (found == relation) return true;
    if (found == 0) return false;
  }
  return false;
}

inline void add_relation(RunFile& file, std::uint64_t relation) {
  for (std::uint32_t step = 0; step < kRelationPlaces; ++step) {
    std::uint64_t& place = file.relations[(home_of(relation) + step) & (kRelationPlaces - 1)];
    if (place == relation) return;
    if (place != 0) continue;
    if (file.header.relation_count >= kMostRelations) break;
    place = relation;
    ++file.header.relation_count;
    return;
  }
  ++file.header.counters.lost_relations;
}

}  // namespace deadheat::schedule
