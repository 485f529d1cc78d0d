// SPDX-License-Identifier: Apache-2.0
// Situation: the circumstances of an access that a report shows, as one number.
//
// A report needs the stack and the locks of both accesses, but the earlier one
// is only known to matter when the later one arrives, so both have to be kept
// for every access that is in some history. A stack is a path in the tree of
// calls seen so far and a lock set a path in the tree of acquisitions; a pair
// of path numbers is numbered again. The number changes only at calls and lock
// operations, and an access stores 26 bits.
//
// Memory grows with distinct stacks and lock sets, not with events. Beyond 2^26
// situations further ones become kUnknown, which costs a report its stack and
// is counted.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/flat_map.h"
#include "base/raw.h"
#include "model/finding.h"
#include "model/identity.h"

namespace deadheat {

enum class PathId : std::uint32_t { kRoot = 0 };
enum class SituationId : std::uint32_t { kUnknown = 0 };

// Numbers the paths of a tree: a path is its parent and one more element.
class PathTable {
 public:
  PathTable() : nodes_(1) {}

  PathId extend(PathId path, std::uint32_t element) {
    std::uint32_t& child = children_[(std::uint64_t{raw(path)} << 32) | element];
    if (child == 0) {
      child = static_cast<std::uint32_t>(nodes_.size());
      nodes_.push_back(Node{path, element});
    }
    return PathId{child};
  }
  [[nodiscard]] PathId parent(PathId path) const { return nodes_[raw(path)].parent; }
  [[nodiscard]] std::uint32_t last(PathId path) const { return nodes_[raw(path)].element; }

  // The path without the last occurrence of the element.
  PathId without(PathId path, std::uint32_t element) {
    std::vector<std::uint32_t> after;
    PathId rest = path;
    while (rest != PathId::kRoot && last(rest) != element) {
      after.push_back(last(rest));
      rest = parent(rest);
    }
    if (rest == PathId::kRoot) return path;
    rest = parent(rest);
    for (auto at = after.rbegin(); at != after.rend(); ++at) rest = extend(rest, *at);
    return rest;
  }

  // First element first.
  [[nodiscard]] std::vector<std::uint32_t> elements(PathId path) const {
    std::vector<std::uint32_t> result;
    for (; path != PathId::kRoot; path = parent(path)) result.push_back(last(path));
    return {result.rbegin(), result.rend()};
  }

 private:
  struct Node {
    PathId parent{};
    std::uint32_t element = 0;
  };
  std::vector<Node> nodes_;
  FlatMap<std::uint32_t> children_;
};

// Where a thread is: its open calls and the locks it holds.
struct Trail {
  PathId calls = PathId::kRoot;
  PathId locks = PathId::kRoot;
  std::uint32_t depth = 0;                        // open calls, also those beyond kMaxDepth
  SituationId situation = SituationId::kUnknown;  // of calls and locks; kUnknown: to be looked up
};

class SituationTable {
 public:
  static constexpr std::uint32_t kLimit = 1U << 26;
  // Deeper calls are not told apart: a recursion without end must not become a
  // tree without end.
  static constexpr std::uint32_t kMaxDepth = 4096;

  SituationTable() : situations_(1) {}

  void enter(Trail& trail, SiteId call) {
    if (trail.depth++ < kMaxDepth) move_calls(trail, calls_.extend(trail.calls, raw(call)));
  }
  void leave(Trail& trail) {
    if (trail.depth == 0) return;
    if (--trail.depth < kMaxDepth) move_calls(trail, calls_.parent(trail.calls));
  }
  void acquire(Trail& trail, SyncId lock, LockMode mode) {
    move_locks(trail, locks_.extend(trail.locks, lock_element(lock, mode)));
  }
  void release(Trail& trail, SyncId lock, LockMode mode) {
    move_locks(trail, locks_.without(trail.locks, lock_element(lock, mode)));
  }

  SituationId of(Trail& trail) {
    if (trail.situation == SituationId::kUnknown) trail.situation = look_up(trail);
    return trail.situation;
  }

  [[nodiscard]] std::vector<SiteId> stack(SituationId situation) const {
    std::vector<SiteId> result;
    for (const std::uint32_t site : calls_.elements(situations_[raw(situation)].calls)) result.push_back(SiteId{site});
    return result;
  }
  [[nodiscard]] std::vector<HeldLock> locks(SituationId situation) const {
    std::vector<HeldLock> result;
    for (const std::uint32_t element : locks_.elements(situations_[raw(situation)].locks)) {
      result.push_back(HeldLock{lock_ids_[element / 2], LockMode{static_cast<std::uint8_t>(element % 2)}});
    }
    return result;
  }

  // How often a situation had to be left unknown because of kLimit.
  [[nodiscard]] std::uint64_t lost() const { return lost_; }

 private:
  struct Pair {
    PathId calls{};
    PathId locks{};
  };

  static void move_calls(Trail& trail, PathId calls) {
    trail.calls = calls;
    trail.situation = SituationId::kUnknown;
  }
  static void move_locks(Trail& trail, PathId locks) {
    trail.locks = locks;
    trail.situation = SituationId::kUnknown;
  }

  std::uint32_t lock_element(SyncId lock, LockMode mode) {
    std::uint32_t& number = lock_numbers_[raw(lock)];
    if (number == 0) {
      lock_ids_.push_back(lock);
      number = static_cast<std::uint32_t>(lock_ids_.size());
    }
    return (number - 1) * 2 + raw(mode);
  }

  SituationId look_up(const Trail& trail) {
    std::uint32_t& number = numbers_[(std::uint64_t{raw(trail.calls)} << 32) | raw(trail.locks)];
    if (number == 0) {
      if (situations_.size() >= kLimit) {
        ++lost_;
        return SituationId::kUnknown;
      }
      number = static_cast<std::uint32_t>(situations_.size());
      situations_.push_back(Pair{trail.calls, trail.locks});
    }
    return SituationId{number};
  }

  PathTable calls_;
  PathTable locks_;
  FlatMap<std::uint32_t> lock_numbers_;  // 1 + index into lock_ids_
  std::vector<SyncId> lock_ids_;
  FlatMap<std::uint32_t> numbers_;  // of (calls, locks)
  std::vector<Pair> situations_;
  std::uint64_t lost_ = 0;
};

}  // namespace deadheat
