// SPDX-License-Identifier: Apache-2.0
#include "trace/event_validity.h"

#include <fmt/format.h>

namespace deadheat {
namespace {

struct Bounds {
  std::uint64_t least = 0;
  std::uint64_t greatest = 0;
  [[nodiscard]] constexpr bool hold(std::uint64_t value) const { return least <= value && value <= greatest; }
};

constexpr std::uint64_t kAnything = std::numeric_limits<std::uint64_t>::max();

constexpr Bounds detail_bounds(DetailMeaning meaning) {
  switch (meaning) {
    case DetailMeaning::kNone:
      break;
    case DetailMeaning::kOrder:
      return {0, kMemoryOrderCount - 1};
    case DetailMeaning::kLock:
      return {0, 3};
    case DetailMeaning::kFlavour:
      return {0, 1};
    case DetailMeaning::kIgnore:
      return {1, 7};
  }
  return {0, 0};
}

constexpr Bounds extent_bounds(EventKind kind) {
  switch (info(kind).extent) {
    case ExtentMeaning::kNone:
      return {0, 0};
    case ExtentMeaning::kSize:
      if (is_access(kind)) return {1, kMaxAccessSize};
      return {kind == EventKind::kBenignRange ? 1U : 0U, kAnything};
    case ExtentMeaning::kMutex:
    case ExtentMeaning::kPhase:
      break;
  }
  return {0, kAnything};
}

constexpr Bounds depth_bounds(EventKind kind) {
  return {0, info(kind).detail == DetailMeaning::kLock ? std::uint64_t{UINT16_MAX} : 0};
}

const char* extent_name(ExtentMeaning meaning) { return meaning == ExtentMeaning::kSize ? "size" : "extent"; }

const char* object_name(ObjectMeaning meaning) {
  switch (meaning) {
    case ObjectMeaning::kAddress:
      return "address";
    case ObjectMeaning::kThread:
      return "other thread";
    case ObjectMeaning::kNone:
    case ObjectMeaning::kSync:
      break;
  }
  return "object";
}

Error outside(const char* field, const Event& event, std::uint64_t value, Bounds bounds) {
  const char* word = info(event.kind).word;
  if (bounds.greatest == 0) {
    return {ErrorCode::kInvalid, fmt::format("{} {} of {}, which has none", field, value, word)};
  }
  return {ErrorCode::kInvalid,
          fmt::format("{} {} of {} is outside {} .. {}", field, value, word, bounds.least, bounds.greatest)};
}

}  // namespace

bool is_valid(const Event& event) {
  if (raw(event.kind) >= kEventKindCount) return false;
  return raw(event.thread) < kThreadLimit && detail_bounds(info(event.kind).detail).hold(event.detail) &&
         depth_bounds(event.kind).hold(event.depth) && extent_bounds(event.kind).hold(event.extent) &&
         event.object <= greatest_object(event.kind, event.extent);
}

Status validate(const Event& event) {
  if (is_valid(event)) return {};
  if (raw(event.kind) >= kEventKindCount) {
    return Error{ErrorCode::kInvalid,
                 fmt::format("event kind {} is not one of the {} known", raw(event.kind), kEventKindCount)};
  }
  const EventKindInfo& kind = info(event.kind);
  const Bounds thread{0, kThreadLimit - 1};
  if (!thread.hold(raw(event.thread))) return outside("thread", event, raw(event.thread), thread);
  const Bounds detail = detail_bounds(kind.detail);
  if (!detail.hold(event.detail)) return outside("detail", event, event.detail, detail);
  const Bounds depth = depth_bounds(event.kind);
  if (!depth.hold(event.depth)) return outside("depth", event, event.depth, depth);
  const Bounds extent = extent_bounds(event.kind);
  if (!extent.hold(event.extent)) return outside(extent_name(kind.extent), event, event.extent, extent);
  if (kind.object == ObjectMeaning::kAddress) {
    return Error{ErrorCode::kInvalid, fmt::format("{} bytes at address {:#x} of {} reach past the end of memory",
                                                  event.extent, event.object, kind.word)};
  }
  return outside(object_name(kind.object), event, event.object, {0, greatest_object(event.kind, event.extent)});
}

}  // namespace deadheat
