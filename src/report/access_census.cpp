// SPDX-License-Identifier: Apache-2.0
#include "report/access_census.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/raw.h"
#include "report/describe.h"

namespace deadheat {

namespace {

constexpr unsigned kGranuleBits = 6;
constexpr std::size_t kFilterSize = 1 << 16;

std::size_t granule_slot(Address granule) { return (granule * 0x9e3779b97f4a7c15ULL) >> 48U; }

bool is_access(EventKind kind) {
  return kind == EventKind::kRead || kind == EventKind::kWrite || kind == EventKind::kAtomicLoad ||
         kind == EventKind::kAtomicStore || kind == EventKind::kAtomicRmw;
}

bool overlap(const Event& event, Address begin, Address end) {
  return event.address() < end && begin < event.address() + std::max<std::uint64_t>(1, event.size());
}

bool is_same_access(const Event& event, const RacingAccess& access) {
  if (event.thread != access.thread || event.site != access.site) return false;
  switch (access.kind) {
    case AccessKind::kRead:
      return event.kind == EventKind::kRead;
    case AccessKind::kWrite:
      return event.kind == EventKind::kWrite;
    case AccessKind::kFree:
      return event.kind == EventKind::kFree;
    case AccessKind::kAtomicRead:
      return event.kind == EventKind::kAtomicLoad;
    case AccessKind::kAtomicWrite:
      return event.kind == EventKind::kAtomicStore || event.kind == EventKind::kAtomicRmw;
  }
  return false;
}

}  // namespace

AccessCensus::AccessCensus(const std::vector<Finding>& findings) : granules_(kFilterSize) {
  std::vector<std::size_t> order(findings.size());
  for (std::size_t index = 0; index < order.size(); ++index) order[index] = index;
  std::sort(order.begin(), order.end(),
            [&](std::size_t one, std::size_t other) { return findings[one].address < findings[other].address; });
  place_of_.resize(findings.size());
  for (const std::size_t index : order) {
    const Finding& finding = findings[index];
    const Address end = finding.address + std::max<std::uint64_t>(1, finding.size);
    if (places_.empty() || finding.address >= places_.back().end) {
      places_.emplace_back().begin = finding.address;
    }
    Place& place = places_.back();
    place.end = std::max(place.end, end);
    place.last_race = std::max(place.last_race, finding.event_index);
    place_of_[index] = places_.size() - 1;
  }
  for (const Place& place : places_) {
    for (Address granule = place.begin >> kGranuleBits; granule <= (place.end - 1) >> kGranuleBits; ++granule) {
      granules_[granule_slot(granule)] = true;
    }
  }
  searches_.resize(std::min(findings.size(), kMostFlags));
  for (std::size_t index = 0; index < searches_.size(); ++index) {
    searches_[index].finding = &findings[index];
    searches_of_.emplace(raw(findings[index].earlier.thread), index);
    searches_of_.emplace(raw(findings[index].later.thread), index);
  }
}

void AccessCensus::add(std::span<const Event> events) {
  for (const Event& event : events) {
    add(event);
    ++index_;
  }
}

void AccessCensus::add(const Event& event) {
  switch (event.kind) {
    case EventKind::kRead:
    case EventKind::kWrite:
      if (may_touch(event)) {
        count(event);
        search(event);
      }
      return;
    case EventKind::kAtomicLoad:
    case EventKind::kAtomicStore:
    case EventKind::kAtomicRmw:
      if (may_touch(event)) count(event);
      search(event);
      if (event.kind == EventKind::kAtomicStore) last_store_[event.address()] = event.thread;
      return;
    case EventKind::kAlloc:
    case EventKind::kFree:
      if (may_touch(event)) {
        search(event);
        renew(event);
      }
      return;
    case EventKind::kLockAcquire:
      if (event.is_outermost()) hold(event.thread, event.sync());
      return;
    case EventKind::kLockRelease:
      if (event.is_outermost()) let_go(event.thread, event.sync());
      return;
    case EventKind::kCondWaitBegin:
      return let_go(event.thread, event.mutex());
    case EventKind::kCondWaitEnd:
      return hold(event.thread, event.mutex());
    case EventKind::kThreadExit:
      held_.erase(raw(event.thread));
      return;
    default:
      return;
  }
}

bool AccessCensus::may_touch(const Event& event) const {
  const Address first = event.address() >> kGranuleBits;
  const Address last = (event.address() + std::max<std::uint64_t>(1, event.size()) - 1) >> kGranuleBits;
  if (last - first > 64) return true;
  for (Address granule = first; granule <= last; ++granule) {
    if (granules_[granule_slot(granule)]) return true;
  }
  return false;
}

template <class Visit>
void AccessCensus::for_each_place(const Event& event, const Visit& visit) {
  auto place = std::partition_point(places_.begin(), places_.end(),
                                    [&](const Place& one) { return one.end <= event.address(); });
  for (; place != places_.end() && overlap(event, place->begin, place->end); ++place) visit(*place);
}

void AccessCensus::count(const Event& event) {
  for_each_place(event, [&](Place& place) {
    if (place.is_closed) return;
    ++place.accesses;
    const auto held = held_.find(raw(event.thread));
    if (held == held_.end()) return;
    for (const SyncId lock : held->second) ++place.locks[lock];
  });
}

// Before the last race the count begins anew; after it, it is complete.
void AccessCensus::renew(const Event& event) {
  if (event.kind != EventKind::kAlloc) return;
  for_each_place(event, [&](Place& place) {
    place.is_closed = place.is_closed || index_ > place.last_race;
    if (place.is_closed) return;
    place.accesses = 0;
    place.locks.clear();
  });
}

void AccessCensus::search(const Event& event) {
  const auto [begin, end] = searches_of_.equal_range(raw(event.thread));
  for (auto at = begin; at != end; ++at) {
    Search& search = searches_[at->second];
    const Finding& finding = *search.finding;
    if (index_ >= finding.event_index) continue;
    if (is_same_access(event, finding.earlier) && overlap(event, finding.address, finding.address + finding.size)) {
      search.has_begun = true;
      search.written.clear();
      search.flag.reset();
      continue;
    }
    if (!search.has_begun || !is_access(event.kind)) continue;
    const bool stores = event.kind == EventKind::kAtomicStore || event.kind == EventKind::kAtomicRmw;
    const bool loads = event.kind == EventKind::kAtomicLoad || event.kind == EventKind::kAtomicRmw;
    if (stores && event.thread == finding.earlier.thread) {
      AccessContext::Flag& flag = search.written[event.address()];
      flag.address = event.address();
      flag.store_site = event.site;
      flag.store_order = event.order();
    } else if (loads && event.thread == finding.later.thread) {
      const auto written = search.written.find(event.address());
      const auto last = last_store_.find(event.address());
      const bool is_overwritten = last != last_store_.end() && last->second != finding.earlier.thread;
      if (written == search.written.end() || is_overwritten) continue;
      search.flag = written->second;
      search.flag->load_site = event.site;
      search.flag->load_order = event.order();
    }
  }
}

void AccessCensus::hold(ThreadId thread, SyncId lock) { held_[raw(thread)].push_back(lock); }

void AccessCensus::let_go(ThreadId thread, SyncId lock) {
  std::vector<SyncId>& locks = held_[raw(thread)];
  const auto found = std::find(locks.rbegin(), locks.rend(), lock);
  if (found != locks.rend()) locks.erase(std::next(found).base());
}

std::vector<AccessContext> AccessCensus::contexts() const {
  std::vector<AccessContext> all(place_of_.size());
  for (std::size_t index = 0; index < all.size(); ++index) {
    const Place& place = places_[place_of_[index]];
    AccessContext& context = all[index];
    context.accesses = place.accesses;
    for (const auto& [lock, accesses] : place.locks) context.locks.push_back({lock, accesses});
    std::sort(context.locks.begin(), context.locks.end(), [](const auto& one, const auto& other) {
      return std::pair(other.accesses, raw(one.lock)) < std::pair(one.accesses, raw(other.lock));
    });
    if (index >= searches_.size()) continue;
    const auto& flag = searches_[index].flag;
    if (flag && !(releases(flag->store_order) && acquires(flag->load_order))) context.flag = flag;
  }
  return all;
}

namespace {

bool holds(const RacingAccess& access, SyncId lock) {
  return std::any_of(access.locks.begin(), access.locks.end(), [&](const HeldLock& held) { return held.lock == lock; });
}

// What is said of the two sides of the race.
std::string_view who_lacks(SyncId lock, const Finding& finding, std::string_view both) {
  const bool earlier = holds(finding.earlier, lock);
  const bool later = holds(finding.later, lock);
  if (includes(finding.earlier.traits, AccessTraits::kLocksUnknown))
    return later ? "" : "; the later one here does not";
  if (earlier && later) return "";
  if (earlier) return "; the later one here does not";
  return later ? "; the earlier one here does not" : both;
}

std::string describe_locking(const AccessContext& context, const Finding& finding, const Dictionary& dictionary) {
  // The two of the race are known already.
  if (context.accesses < 3) return {};
  const bool is_live = context.since != AccessContext::Since::kAllocation;
  const bool is_full = context.since == AccessContext::Since::kRaceUntilFull;
  const std::string memory = is_live ? "to this memory after the race was seen" : "to this memory";
  const std::string all = fmt::format("{}{} accesses {}", is_full ? "first " : "", grouped(context.accesses), memory);
  if (context.locks.empty()) return fmt::format("none of the {} holds a lock", all);
  const AccessContext::Lock& best = context.locks.front();
  const std::string lock = describe_lock({best.lock, LockMode::kExclusive}, dictionary);
  const std::string_view who = who_lacks(best.lock, finding, "; these two do not");
  if (best.accesses == context.accesses)
    return fmt::format("all {}{} hold {}{}", is_full ? "" : "of the ", all, lock, who);
  return fmt::format("{} of {}{} hold {}{}", grouped(best.accesses), is_full ? "the " : "", all, lock, who);
}

std::string order_words(std::string_view what, MemoryOrder order) {
  constexpr std::string_view kWords[kMemoryOrderCount] = {"relaxed", "consume", "acquire",
                                                          "release", "acq_rel", "seq_cst"};
  return fmt::format("a {} of memory_order_{}", what, kWords[raw(order)]);
}

std::string describe_flag(const AccessContext::Flag& flag, const Finding& finding, const Dictionary& dictionary) {
  const auto place = [&](SiteId site) {
    const std::string words = describe_place(dictionary.sites[site]);
    return words.empty() ? std::string() : fmt::format(" ({})", words);
  };
  return fmt::format("{} writes {}{} after its access and {} reads it{} before its own, but {} and {} order nothing",
                     describe_thread(finding.earlier.thread, dictionary), describe_address(flag.address, dictionary),
                     place(flag.store_site), describe_thread(finding.later.thread, dictionary), place(flag.load_site),
                     order_words("write", flag.store_order), order_words("read", flag.load_order));
}

}  // namespace

std::string describe_context(const AccessContext& context, const Finding& finding, const Dictionary& dictionary) {
  std::string words = describe_locking(context, finding, dictionary);
  if (!context.flag) return words;
  if (!words.empty()) words += "; ";
  return words + describe_flag(*context.flag, finding, dictionary);
}

std::string explain(const Finding& finding, const Dictionary& dictionary, const AccessContext* context) {
  std::string why = explain(finding, dictionary);
  const std::string more = context == nullptr ? std::string() : describe_context(*context, finding, dictionary);
  return more.empty() ? why : why + "; " + more;
}

}  // namespace deadheat
