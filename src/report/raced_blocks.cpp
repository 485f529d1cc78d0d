// SPDX-License-Identifier: Apache-2.0
#include "report/raced_blocks.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/raw.h"

namespace deadheat {

namespace {

// More than those make no better name.
constexpr std::size_t kMostAllocationFrames = 16;

}  // namespace

void RacedBlocks::add(std::span<const Event> events, std::span<const Finding> findings) {
  for (const Event& event : events) {
    while (blocks_.size() < findings.size() && findings[blocks_.size()].event_index <= index_) {
      blocks_.push_back(block_at(findings[blocks_.size()].address));
    }
    switch (event.kind) {
      case EventKind::kFunctionEnter:
        calls_of(event.thread).push_back(event.site);
        break;
      case EventKind::kFunctionExit:
        if (auto& calls = calls_of(event.thread); !calls.empty()) calls.pop_back();
        break;
      case EventKind::kAlloc:
        allocate(event);
        break;
      default:
        break;
    }
    ++index_;
  }
}

std::vector<SiteId>& RacedBlocks::calls_of(ThreadId thread) {
  if (raw(thread) >= calls_.size()) calls_.resize(raw(thread) + 1);
  return calls_[raw(thread)];
}

void RacedBlocks::allocate(const Event& event) {
  const Address begin = event.address();
  const Address end = begin + event.size();
  auto at = alive_.lower_bound(begin);
  if (at != alive_.begin() && std::prev(at)->first + std::prev(at)->second.size > begin) --at;
  while (at != alive_.end() && at->first < end) at = alive_.erase(at);
  if (event.site == SiteId::kUnknown) return;
  Block block{event.size(), {event.site}};
  const std::vector<SiteId>& calls = calls_of(event.thread);
  const std::size_t count = std::min(calls.size(), kMostAllocationFrames);
  block.allocated.insert(block.allocated.end(), calls.rbegin(), calls.rbegin() + static_cast<std::ptrdiff_t>(count));
  alive_.insert_or_assign(begin, std::move(block));
}

RacedBlock RacedBlocks::block_at(Address address) const {
  const auto next = alive_.upper_bound(address);
  if (next == alive_.begin()) return {};
  const auto& [begin, block] = *std::prev(next);
  if (address - begin >= block.size) return {};
  return {begin, block.size, block.allocated};
}

}  // namespace deadheat
