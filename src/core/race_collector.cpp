// SPDX-License-Identifier: Apache-2.0
#include "core/race_collector.h"

#include <algorithm>
#include <bit>

namespace deadheat {

namespace {

// Calls visit(first, last) for each run of neighbouring touched bytes.
template <class Visit>
void for_each_run(const Touched& touched, Visit&& visit) {
  if (touched.mask == 0xff) return visit(touched.base, touched.base + (touched.length - 1));
  unsigned mask = touched.mask;
  Address at = touched.base;
  while (mask != 0) {
    const int gap = std::countr_zero(mask);
    const int run = std::countr_one(mask >> gap);
    visit(at + gap, at + gap + run - 1);
    mask >>= gap + run;
    at += gap + run;
  }
}

bool has_sites(const RawAccess& earlier, const RawAccess& later) {
  return earlier.record.site() != SiteId::kUnknown && later.record.site() != SiteId::kUnknown;
}

}  // namespace

void RaceCollector::add(const RawAccess& earlier, const RawAccess& later, std::uint64_t later_size,
                        const Touched& touched, std::uint64_t event_index) {
  for_each_run(touched, [&](Address run_first, Address run_last) {
    for_each_reported(run_first, run_last, [&](Address first, Address last) {
      mark_racy(first, last);
      count(earlier, later, later_size, first, last, 0, event_index);
    });
  });
}

void RaceCollector::add(const RawAccess& earlier, const RawAccess& later, std::uint64_t later_size,
                        const TouchedElements& touched, std::uint64_t event_index) {
  const bool one_is_enough = has_sites(earlier, later);
  bool is_counted = false;
  touched.for_each_run([&](Address run_first, Address run_last) {
    for_each_reported(run_first, run_last, [&](Address first, Address last) {
      mark_racy(first, last);
      while (!is_counted) {
        const Address element = touched.element_of(first);
        const Address end = std::min(last, element + (touched.step - 1));
        count(earlier, later, later_size, first, end, element, event_index);
        is_counted = one_is_enough;
        if (end == last) break;
        first = end + 1;
      }
    });
  });
}

template <class Visit>
void RaceCollector::for_each_reported(Address first, Address last, Visit&& visit) const {
  if (benign_.empty()) return visit(first, last);
  Address at = first;
  bool covered_to_the_end = false;
  benign_.for_each(first, last, [&](Address from, Address to, Present) {
    if (at < from) visit(at, from - 1);
    covered_to_the_end = to == last;
    at = to + 1;
  });
  if (!covered_to_the_end) visit(at, last);
}

void RaceCollector::mark_racy(Address first, Address last) {
  if (!racy_.covers(first, last)) racy_.assign(first, last, Present{});
}

void RaceCollector::count(const RawAccess& earlier, const RawAccess& later, std::uint64_t later_size, Address first,
                          Address last, Address element, std::uint64_t event_index) {
  Key key;
  key.kinds = (std::uint64_t{raw(earlier.kind)} << 8U) | raw(later.kind);
  key.sites = (std::uint64_t{raw(earlier.record.site())} << 32U) | raw(later.record.site());
  const bool is_placed = has_sites(earlier, later);
  if (!is_placed) key.address = first;
  const auto [at, is_new_pair] = pairs_.try_emplace(key);
  Pair& pair = at->second;
  // One access that touches several words is one occurrence.
  if (is_new_pair || last_event_[pair.latest] != event_index) {
    const std::uint64_t calls =
        is_placed ? situations_.calls(earlier.record.situation()) + spread(situations_.calls(later.record.situation()))
                  : 0;
    std::size_t* known = pair.variants.find(first, calls);
    if (known == nullptr) {
      const auto met = pair.variants.meet({first, last + 1, 0, calls});
      known = met.value;
      if (met.is_new) {
        const bool goes_on = !is_placed && continues_newest(earlier, later, first, element, event_index);
        *known = goes_on ? findings_.size() - 1 : make(earlier, later, later_size, first, last, event_index);
        if (!goes_on) {
          pair.latest = *known;
          return;
        }
      }
    }
    pair.latest = *known;
  }

  Finding& finding = findings_[pair.latest];
  if (last_event_[pair.latest] != event_index) {
    ++finding.occurrences;
    last_event_[pair.latest] = event_index;
  } else if (finding.event_index == event_index && finding.address >= element &&
             finding.address + finding.size == first) {
    finding.size = last - finding.address + 1;  // the same race, continued in the next word
    pair.variants.extend_latest(last + 1);
  }
}

std::size_t RaceCollector::make(const RawAccess& earlier, const RawAccess& later, std::uint64_t later_size,
                                Address first, Address last, std::uint64_t event_index) {
  Finding finding;
  finding.kind = race_kind(earlier.kind, later.kind);
  finding.earlier = describe(earlier, earlier.record.size());
  finding.later = describe(later, later_size);
  finding.address = first;
  finding.size = last - first + 1;
  finding.event_index = event_index;
  findings_.push_back(std::move(finding));
  last_event_.push_back(event_index);
  return findings_.size() - 1;
}

// The newest finding is this very race, up to the byte before `first`.
bool RaceCollector::continues_newest(const RawAccess& earlier, const RawAccess& later, Address first, Address element,
                                     std::uint64_t event_index) const {
  if (findings_.empty()) return false;
  const Finding& newest = findings_.back();
  return newest.event_index == event_index && newest.address >= element && newest.address + newest.size == first &&
         newest.earlier.thread == earlier.thread && newest.earlier.clock == earlier.record.epoch().clock() &&
         newest.earlier.kind == earlier.kind && newest.earlier.site == earlier.record.site() &&
         newest.later.kind == later.kind;
}

RacingAccess RaceCollector::describe(const RawAccess& access, std::uint64_t size) const {
  RacingAccess result;
  result.thread = access.thread;
  result.clock = access.record.epoch().clock();
  result.kind = access.kind;
  result.size = size;
  result.site = access.record.site();
  result.stack = situations_.stack(access.record.situation());
  result.locks = situations_.locks(access.record.situation());
  return result;
}

void RaceCollector::mark_benign(Address address, std::uint64_t size) {
  if (size != 0) benign_.assign(address, address + (size - 1), Present{});
}

void RaceCollector::forget_benign(Address address, std::uint64_t size) {
  if (size != 0 && !benign_.empty()) benign_.erase(address, address + (size - 1));
}

std::vector<Detector::Range> RaceCollector::racy_bytes() const {
  std::vector<Detector::Range> result;
  racy_.for_each(0, ~Address{0},
                 [&](Address first, Address last, Present) { result.push_back(Detector::Range{first, last + 1}); });
  return result;
}

}  // namespace deadheat
