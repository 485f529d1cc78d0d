// SPDX-License-Identifier: Apache-2.0
#include "report/recorded_callers.h"

#include <algorithm>
#include <optional>
#include <set>

namespace deadheat {

const SampledCallers& RecordedCallers::unwound(const RegisterSample& sample) {
  if (!stack_) stack_ = std::make_unique<SampledStack>(code_.files());
  const auto [found, is_new] = unwound_.try_emplace(&sample);
  if (is_new) found->second = stack_->callers(sample);
  return found->second;
}

RecordedCallers::Callers RecordedCallers::callers_of(std::uint32_t frame, const RecordedThread& thread,
                                                     std::span<const replay::CallFrame> frames) {
  Callers callers;
  while (frame < frames.size() && frames[frame].parent != replay::kNoFrame) {
    callers.calls.push_back(frames[frame].returns_to - 1);
    frame = frames[frame].parent;
  }
  if (frame >= frames.size() || frames[frame].sample >= thread.samples.size()) return callers;
  const SampledCallers& outer = unwound(thread.samples[frames[frame].sample]);
  // It has returned out of all that is known.
  if (frames[frame].returned > outer.calls.size()) return callers;
  callers.calls.insert(callers.calls.end(), outer.calls.begin() + frames[frame].returned, outer.calls.end());
  callers.is_whole = outer.is_whole;
  return callers;
}

void RecordedCallers::complete(RacingAccess& side, Address address, std::uint64_t size, const RecordedThread& thread,
                               std::span<const PlacedAccess> accesses, std::span<const replay::CallFrame> frames) {
  const std::uint64_t code = code_.code_of(side.site);
  if (code == 0) return;
  // All accesses that this side may have been.
  std::set<std::uint32_t> possible;
  for (const PlacedAccess& access : accesses) {
    const Event& event = access.event;
    const bool overlaps = event.address() < address + size && address < event.address() + event.size();
    if (event.site == side.site && overlaps) possible.insert(access.number);
  }
  std::optional<Callers> shared;
  for (const std::uint32_t frame : possible) {
    Callers callers = callers_of(frame, thread, frames);
    if (!shared) {
      shared = std::move(callers);
      continue;
    }
    const auto [end, other] = std::ranges::mismatch(shared->calls, callers.calls);
    if (end != shared->calls.end() || other != callers.calls.end()) shared->is_whole = false;
    shared->calls.erase(end, shared->calls.end());
    shared->is_whole = shared->is_whole && callers.is_whole;
  }
  std::vector<SiteId> stack = code_.frames_of(code);
  stack.erase(stack.begin());
  if (shared) {
    for (const std::uint64_t call : shared->calls) {
      const std::vector<SiteId> inlined = code_.frames_of(call);
      stack.insert(stack.end(), inlined.begin(), inlined.end());
    }
  }
  side.stack.assign(stack.rbegin(), stack.rend());
  if (!shared || !shared->is_whole) side.traits = side.traits | AccessTraits::kCallersUnknown;
}

}  // namespace deadheat
