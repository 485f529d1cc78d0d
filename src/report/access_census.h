// SPDX-License-Identifier: Apache-2.0
// AccessCensus: how a trace treats the memory that races: under which locks it is accessed
// otherwise, and whether an atomic variable that was meant to order the two sides is relaxed.
//
// A detector keeps of each access what a race with it needs, not how often a lock was held;
// counting for all memory would cost as much as detecting. So the trace is read again, when
// the races are known, and only accesses to their bytes are counted: those from the last
// allocation before the race to the next one after it, because later owners of the same
// addresses have rules of their own. Frees are not accesses here.
//
// The flag: after its access the earlier thread wrote an atomic variable, nobody else did, and
// the later thread read it before its own access, but one of the two is too weak to order
// anything. That the read saw that write follows from the trace's order, which for accesses at the same
// instant is the recorder's. Looked for in the first kMostFlags races only.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/dictionary.h"
#include "model/event.h"
#include "model/finding.h"

namespace deadheat {

// What is known of the memory of one race beyond the race.
struct AccessContext {
  // Which accesses: all since the memory was allocated; those after the race was found, as
  // far as a running program saw them; or so many of these that it stopped counting.
  enum class Since : std::uint8_t { kAllocation, kRace, kRaceUntilFull };
  Since since = Since::kAllocation;
  std::uint64_t accesses = 0;
  struct Lock {
    SyncId lock{};
    std::uint64_t accesses = 0;  // that held it
  };
  std::vector<Lock> locks;  // the most frequent first

  struct Flag {
    Address address = 0;
    SiteId store_site = SiteId::kUnknown;
    SiteId load_site = SiteId::kUnknown;
    MemoryOrder store_order = MemoryOrder::kRelaxed;
    MemoryOrder load_order = MemoryOrder::kRelaxed;
  };
  std::optional<Flag> flag;
};

class AccessCensus {
 public:
  static constexpr std::size_t kMostFlags = 256;

  explicit AccessCensus(const std::vector<Finding>& findings);

  // All events of the trace, in order.
  void add(std::span<const Event> events);

  // In the order of the findings.
  [[nodiscard]] std::vector<AccessContext> contexts() const;

 private:
  // The bytes of one or several races.
  struct Place {
    Address begin = 0;
    Address end = 0;
    std::uint64_t last_race = 0;  // index of the last event that made one of them
    bool is_closed = false;       // the memory has a new owner
    std::uint64_t accesses = 0;
    std::map<SyncId, std::uint64_t> locks;
  };
  // What happened since the earlier access of a race.
  struct Search {
    const Finding* finding = nullptr;
    bool has_begun = false;
    std::map<Address, AccessContext::Flag> written;  // by the earlier thread
    std::optional<AccessContext::Flag> flag;
  };

  void add(const Event& event);
  void count(const Event& event);
  void renew(const Event& event);
  void search(const Event& event);
  [[nodiscard]] bool may_touch(const Event& event) const;
  void hold(ThreadId thread, SyncId lock);
  void let_go(ThreadId thread, SyncId lock);
  // Calls visit(place) for each place that overlaps.
  template <class Visit>
  void for_each_place(const Event& event, const Visit& visit);

  std::vector<Place> places_;          // by address, disjoint
  std::vector<std::size_t> place_of_;  // of each finding
  std::vector<bool> granules_;         // a filter in front of the search: hashes of 64-byte pieces
  std::unordered_map<std::uint32_t, std::vector<SyncId>> held_;  // by thread
  std::vector<Search> searches_;
  std::unordered_multimap<std::uint32_t, std::size_t> searches_of_;  // by thread
  std::unordered_map<Address, ThreadId> last_store_;  // to an atomic variable; RMWs of others continue it
  std::uint64_t index_ = 0;
};

// "23,114 of 23,117 accesses to this memory hold queue_mutex, this earlier one does not", and the
// same of a flag; empty when there is nothing to say.
[[nodiscard]] std::string describe_context(const AccessContext& context, const Finding& finding,
                                           const Dictionary& dictionary);

// explain() of describe.h, and what the context adds; it may be null.
[[nodiscard]] std::string explain(const Finding& finding, const Dictionary& dictionary, const AccessContext* context);

}  // namespace deadheat
