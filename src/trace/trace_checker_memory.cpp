// SPDX-License-Identifier: Apache-2.0
// The checker's rules for allocations. Live ones are kept in an ordered map:
// they do not overlap, so only the neighbours of a range can overlap it.
#include <fmt/format.h>

#include <algorithm>

#include "trace/trace_checker.h"

namespace deadheat {

namespace {

// The last byte of a range; an empty allocation still has an address of its own.
Address last_byte(Address begin, std::uint64_t size) { return begin + (std::max<std::uint64_t>(size, 1) - 1); }

}  // namespace

std::optional<std::pair<Address, std::uint64_t>> TraceChecker::live_overlap(Address begin, std::uint64_t size) const {
  const auto after = allocations_.upper_bound(last_byte(begin, size));
  if (after == allocations_.begin()) return std::nullopt;
  const auto candidate = std::prev(after);
  if (last_byte(candidate->first, candidate->second) < begin) return std::nullopt;
  return *candidate;
}

std::string TraceChecker::allocate(const Event& event) {
  if (const auto live = live_overlap(event.address(), event.size())) {
    return fmt::format("allocates {}, which overlaps the live allocation of {}", range(event.address(), event.size()),
                       range(live->first, live->second));
  }
  allocations_.emplace(event.address(), event.size());
  return {};
}

std::string TraceChecker::free_memory(const Event& event) {
  const auto live = live_overlap(event.address(), event.size());
  if (!live) return {};
  if (live->first != event.address() || live->second != event.size()) {
    return fmt::format("frees {}, but the live allocation there is {}", range(event.address(), event.size()),
                       range(live->first, live->second));
  }
  allocations_.erase(event.address());
  return {};
}

}  // namespace deadheat
