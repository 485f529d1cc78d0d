// SPDX-License-Identifier: Apache-2.0
// RaceCollector: turns the races that rules find into findings.
//
// A racy loop races millions of times at the same two lines. A finding is made
// for the first occurrence of each pair of (kind, site) and kind, site, and for
// each other piece of memory or way of calls that may be another race there
// (race_variants.h); later occurrences are counted. Where a site is unknown the
// address stands in for it. Memory grows with distinct pairs and with racy bytes.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "core/access_record.h"
#include "core/byte_shadow.h"
#include "core/detector.h"
#include "core/race_variants.h"
#include "core/range_map.h"
#include "core/situation.h"
#include "core/touched_elements.h"
#include "model/finding.h"

namespace deadheat {

// One side of a race before words are made of it.
struct RawAccess {
  AccessKind kind = AccessKind::kRead;
  ThreadId thread{};
  AccessRecord record;
};

class RaceCollector {
 public:
  explicit RaceCollector(const SituationTable& situations) : situations_(situations) {}

  // The two accesses race on the touched bytes. event_index is the later one's.
  void add(const RawAccess& earlier, const RawAccess& later, std::uint64_t later_size, const Touched& touched,
           std::uint64_t event_index);
  // The same for many accesses of one place, each to an element. All its bytes
  // are racy; the finding is about the lowest element, and an occurrence is all of
  // them, unless a site is unknown: then each address is a finding, as above.
  void add(const RawAccess& earlier, const RawAccess& later, std::uint64_t later_size, const TouchedElements& touched,
           std::uint64_t event_index);

  // Races on these bytes are not reported, until they are new memory.
  void mark_benign(Address address, std::uint64_t size);
  void forget_benign(Address address, std::uint64_t size);

  [[nodiscard]] const std::vector<Finding>& findings() const { return findings_; }
  [[nodiscard]] std::vector<Detector::Range> racy_bytes() const;

 private:
  struct Key {
    std::uint64_t kinds = 0;
    std::uint64_t sites = 0;
    Address address = 0;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const { return spread(key.kinds ^ spread(key.sites ^ spread(key.address))); }
  };

  struct Pair {
    RaceVariants<std::size_t> variants;  // indices into findings_
    std::size_t latest = 0;
  };

  // Calls visit(first, last) for what the benign ranges leave over.
  template <class Visit>
  void for_each_reported(Address first, Address last, Visit&& visit) const;
  void mark_racy(Address first, Address last);
  // The bytes are those of one later access, from `element` on.
  void count(const RawAccess& earlier, const RawAccess& later, std::uint64_t later_size, Address first, Address last,
             Address element, std::uint64_t event_index);
  [[nodiscard]] bool continues_newest(const RawAccess& earlier, const RawAccess& later, Address first, Address element,
                                      std::uint64_t event_index) const;
  // Index of a new finding.
  std::size_t make(const RawAccess& earlier, const RawAccess& later, std::uint64_t later_size, Address first,
                   Address last, std::uint64_t event_index);
  [[nodiscard]] RacingAccess describe(const RawAccess& access, std::uint64_t size) const;

  const SituationTable& situations_;
  std::vector<Finding> findings_;
  std::unordered_map<Key, Pair, KeyHash> pairs_;
  std::vector<std::uint64_t> last_event_;  // by index: the newest event counted
  RangeSet racy_;
  RangeSet benign_;
};

}  // namespace deadheat
