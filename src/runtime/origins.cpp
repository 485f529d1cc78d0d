// SPDX-License-Identifier: Apache-2.0
#include "runtime/origins.h"

#include "runtime/thread_registry.h"

namespace deadheat::runtime {
namespace {

constexpr std::uint32_t kOriginsWithLocks = 3U << 20;
// The set of locks of an origin that came too late to have one.
constexpr std::uint32_t kUnknownLocks = 0;
constexpr std::uint32_t kNoLocks = 1;

// In the element of an origin that is a combination.
constexpr std::uint64_t kIsCombination = std::uint64_t{1} << 63;

PairTable stacks;      // (stack, code address)
PairTable lock_sets;   // (set, serial * 2 + mode)
PairTable situations;  // (stack, set)
PairTable origins;     // (situation, code address and shape)

std::atomic<std::uint64_t> without_locks{0};
std::atomic<std::uint64_t> unknown{0};

// The innermost of the two latest calls from the same place, if there are two.
// Recursion would number every path through it; so a third call counts as the
// second, and reports show two rounds of it.
const Frame* recursion_of(const Frame* frame, const Frame* bottom) {
  constexpr std::ptrdiff_t kLookBack = 64;
  const Frame* const end = frame - bottom > kLookBack ? frame - kLookBack : bottom;
  const Frame* innermost = nullptr;
  for (const Frame* below = frame; below-- > end;) {
    if (below->call != frame->call) continue;
    if (innermost != nullptr) return innermost;
    innermost = below;
  }
  return nullptr;
}

// The frames below are numbered already more often than not, the lowest always.
std::uint32_t number_frames(Frame* top, const Frame* bottom) {
  Frame* known = top;
  while ((known - 1)->context == 0) --known;
  std::uint32_t stack = (known - 1)->context;
  for (Frame* frame = known; frame != top; ++frame) {
    if (const Frame* same = recursion_of(frame, bottom)) {
      stack = same->context;
      frame->path = same->path;
    } else {
      const std::uint32_t longer = stacks.number(stack, frame->call);
      if (longer == 0) return stack;  // full: the stack ends here
      stack = longer;
      frame->path = longer_path((frame - 1)->path, frame->call);
    }
    frame->context = stack;
  }
  return stack;
}

std::uint32_t number_lock_set(ThreadState& self) {
  const std::uint32_t count = self.held.size();
  if (count == 0) return kNoLocks;
  if (self.held[count - 1].lock_set != 0) return self.held[count - 1].lock_set;
  std::uint32_t set = kNoLocks;
  for (HeldLockState& held : self.held) {
    if (held.lock_set == 0) {
      const std::uint32_t larger = lock_sets.number(set, held.serial * 2 + raw(held.mode));
      if (larger == 0) return kUnknownLocks;
      held.lock_set = larger;
    }
    set = held.lock_set;
  }
  return set;
}

OriginCacheEntry* make_cache(std::uint32_t size) {
  auto* const cache = static_cast<OriginCacheEntry*>(PageSource::allocate(size * sizeof(OriginCacheEntry)));
  for (std::uint32_t index = 0; index < size; ++index) cache[index] = {};
  return cache;
}

[[gnu::noinline]] std::uint32_t look_up(std::uint32_t stack, std::uint32_t lock_set, std::uint64_t code_and_shape) {
  if (origins.count() > kOriginsWithLocks && lock_set != kNoLocks) {
    without_locks.fetch_add(1, std::memory_order_relaxed);
    lock_set = kUnknownLocks;
  }
  const std::uint32_t situation = situations.number(stack, lock_set);
  const std::uint32_t result = situation == 0 ? 0 : origins.number(situation, code_and_shape);
  if (result == 0) unknown.fetch_add(1, std::memory_order_relaxed);
  return result;
}

}  // namespace

bool map_origins() {
  return stacks.map(1U << 27, 1U << 18, 2) && lock_sets.map(1U << 26, 1U << 16, 2) &&
         situations.map(1U << 26, 1U << 16) && origins.map(CellEntry::kMaxOrigin + 1, 1U << 20);
}

StackId open_stack(ThreadState& self) {
  Frame* top = current.state == &self ? current.top : self.saved_top;
  return StackId{number_frames(top, self.frames + 1)};
}

std::uint32_t current_stack(ThreadState& self, Address code) {
  const bool has_cache = current.state == &self;
  if (has_cache) {
    if (const std::uint32_t known = cached_stack(code); known != 0) return known;
    if (self.stacks == nullptr) {
      self.stacks = make_cache(kStackCacheSize);
      current.stacks = self.stacks;
    }
  }
  const std::uint32_t stack = raw(open_stack(self));  // may shorten the path
  const std::uint32_t longer = stacks.number(stack, code);
  const std::uint32_t result = longer == 0 ? stack : longer;
  if (has_cache) self.stacks[stack_key(code) % kStackCacheSize] = {stack_key(code), result, 0};
  return result;
}

OriginCacheEntry no_stacks[kStackCacheSize];
OriginCacheEntry no_origins[kOriginCacheSize];
constinit std::atomic<std::uint64_t> combinations[1U << kCombinationPlaceBits];

OriginId origin_of(ThreadState& self, std::uint64_t code_and_shape) {
  if (self.origins == nullptr) {
    self.origins = make_cache(kOriginCacheSize);
    publish_epoch(self);
  }
  // First, as it may shorten the path.
  const std::uint32_t stack = raw(open_stack(self));
  const std::uint64_t key = cache_key(code_and_shape);
  if (const OriginId known = cached_in(self.origins, key); known != OriginId::kUnknown) return known;
  const std::uint32_t origin = look_up(stack, number_lock_set(self), code_and_shape);
  self.origins[key % kOriginCacheSize] = {key, origin, 0};
  return OriginId{origin};
}

OriginId combined_origin(OriginId earlier, OriginId added, ByteMask mask) {
  // If they are not needed again and again, they must not use up the numbers.
  if (earlier == OriginId::kUnknown || added == OriginId::kUnknown || origins.count() > kOriginsWithLocks / 2) {
    return OriginId::kUnknown;
  }
  if (const OriginId known = cached_combination(earlier, added, mask); known != OriginId::kUnknown) return known;
  const std::uint64_t key = combination_key(earlier, added, mask);
  const std::uint32_t result = origins.number(raw(earlier), key | kIsCombination);
  if (result != 0) {
    const CombinationPlace place(key);
    place.entry().store(place.tag() | result, std::memory_order_relaxed);
  }
  return OriginId{result};
}

OriginId origin_of_byte(OriginId origin, std::uint32_t byte) {
  while (origin != OriginId::kUnknown) {
    const PairTable::Node& node = origins.node(raw(origin));
    if ((node.element & kIsCombination) == 0) break;
    const auto mask = static_cast<ByteMask>(node.element >> 44);
    origin = (mask >> byte & 1U) != 0 ? OriginId{static_cast<std::uint32_t>(node.element >> 22) & CellEntry::kMaxOrigin}
                                      : OriginId{node.parent};
  }
  return origin;
}

OriginDetails details_of(OriginId origin) {
  if (origin == OriginId::kUnknown) return {};
  const PairTable::Node& node = origins.node(raw(origin));
  const PairTable::Node& situation = situations.node(node.parent);
  OriginDetails result;
  result.code = node.element & ((Address{1} << kShapeShift) - 1);
  result.shape.size_code = static_cast<std::uint8_t>(node.element >> kShapeShift);
  result.shape.flags = static_cast<std::uint8_t>(node.element >> (kShapeShift + 8));
  result.stack = situation.parent;
  result.lock_set = static_cast<std::uint32_t>(situation.element);
  return result;
}

std::uint32_t copy_stack(std::uint32_t stack, Address* into, std::uint32_t limit) {
  std::uint32_t count = 0;
  for (; stack > raw(StackId::kEmpty) && count < limit; stack = stacks.node(stack).parent) {
    into[count++] = stacks.node(stack).element;
  }
  return count;
}

std::uint32_t copy_lock_set(std::uint32_t lock_set, LockInSet* into, std::uint32_t limit) {
  std::uint32_t count = 0;
  for (; lock_set > kNoLocks && count < limit; lock_set = lock_sets.node(lock_set).parent) {
    const std::uint64_t element = lock_sets.node(lock_set).element;
    into[count++] = LockInSet{element / 2, LockMode{static_cast<std::uint8_t>(element % 2)}};
  }
  return count;
}

OriginCounters origin_counters() {
  return {stacks.count(), origins.count(), without_locks.load(std::memory_order_relaxed),
          unknown.load(std::memory_order_relaxed)};
}

}  // namespace deadheat::runtime
