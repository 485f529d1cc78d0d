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
// Most situations are soon in no history any more. When their number has
// doubled, collect() forgets those that no record and no thread refers to, so
// memory follows what the shadow holds, not the length of the run. Beyond 2^26
// situations in use further ones become kUnknown, which costs a report its
// stack and is counted.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
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
    std::uint32_t& child = children_[key(path, element)];
    if (child == 0) {
      child = free_number();
      nodes_[child] = Node{path, element};
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

  // Paths in use, the empty one included.
  [[nodiscard]] std::size_t count() const { return nodes_.size() - free_.size(); }

  // Marks the path and those it extends; `live` is indexed by PathId.
  void mark(PathId path, std::vector<bool>& live) const {
    live.resize(nodes_.size());
    for (; !live[raw(path)]; path = parent(path)) live[raw(path)] = true;
  }
  // Forgets all paths but the marked ones, which keep their numbers.
  void keep(const std::vector<bool>& live) {
    children_.clear();
    free_.clear();
    for (std::uint32_t number = 1; number < nodes_.size(); ++number) {
      if (number < live.size() && live[number]) {
        children_[key(nodes_[number].parent, nodes_[number].element)] = number;
      } else {
        free_.push_back(number);
      }
    }
  }

 private:
  struct Node {
    PathId parent{};
    std::uint32_t element = 0;
  };

  static std::uint64_t key(PathId path, std::uint32_t element) { return (std::uint64_t{raw(path)} << 32) | element; }
  std::uint32_t free_number() {
    if (free_.empty()) {
      nodes_.emplace_back();
      return static_cast<std::uint32_t>(nodes_.size() - 1);
    }
    const std::uint32_t number = free_.back();
    free_.pop_back();
    return number;
  }

  std::vector<Node> nodes_;
  std::vector<std::uint32_t> free_;
  FlatMap<std::uint32_t> children_;
};

// Where a thread is: its open calls and the locks it holds. A thread comes back
// to the same few places again and again, so it remembers their numbers.
struct Trail {
  struct Place {
    PathId calls{};
    PathId locks{};
    SituationId situation = SituationId::kUnknown;
  };

  PathId calls = PathId::kRoot;
  PathId locks = PathId::kRoot;
  std::uint32_t depth = 0;                        // open calls, also those beyond kMaxDepth
  SituationId situation = SituationId::kUnknown;  // of calls and locks; kUnknown: to be looked up
  std::array<Place, 8> places{};                  // by the low bits of calls and locks
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
    if (trail.situation != SituationId::kUnknown) return trail.situation;
    Trail::Place& place = trail.places[(raw(trail.calls) * 3 + raw(trail.locks)) % trail.places.size()];
    const bool remembered = place.calls == trail.calls && place.locks == trail.locks;
    if (!remembered || place.situation == SituationId::kUnknown) place = {trail.calls, trail.locks, look_up(trail)};
    trail.situation = place.situation;
    return trail.situation;
  }

  // A number for its stack: equal for equal ones, while no situation is collected.
  [[nodiscard]] std::uint64_t calls(SituationId situation) const { return raw(situations_[raw(situation)].calls); }
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

  [[nodiscard]] bool wants_collection() const { return count() >= collect_at_; }

  // Forgets what is not in use. for_each_situation(visit) calls visit(id) for
  // every situation that some record holds, for_each_trail(visit) calls
  // visit(trail) for the trail of every thread.
  template <class ForEachSituation, class ForEachTrail>
  void collect(ForEachSituation&& for_each_situation, ForEachTrail&& for_each_trail) {
    std::vector<bool> live(situations_.size());
    for_each_situation([&](SituationId situation) { live[raw(situation)] = true; });

    std::vector<bool> live_calls(1, true);
    std::vector<bool> live_locks(1, true);
    for_each_trail([&](Trail& trail) {
      trail.situation = SituationId::kUnknown;
      trail.places = {};
      calls_.mark(trail.calls, live_calls);
      locks_.mark(trail.locks, live_locks);
    });
    numbers_.clear();
    free_.clear();
    for (std::uint32_t number = 1; number < situations_.size(); ++number) {
      if (!live[number]) {
        free_.push_back(number);
        continue;
      }
      numbers_[key(situations_[number])] = number;
      calls_.mark(situations_[number].calls, live_calls);
      locks_.mark(situations_[number].locks, live_locks);
    }
    calls_.keep(live_calls);
    locks_.keep(live_locks);
    collect_at_ = std::max(kFirstCollection, 2 * count());
  }

  // How often a situation had to be left unknown because of kLimit.
  [[nodiscard]] std::uint64_t lost() const { return lost_; }

 private:
  struct Pair {
    PathId calls{};
    PathId locks{};
  };

  static constexpr std::size_t kFirstCollection = 1U << 16;

  [[nodiscard]] std::size_t count() const {
    return situations_.size() - free_.size() + calls_.count() + locks_.count();
  }
  static std::uint64_t key(const Pair& pair) { return (std::uint64_t{raw(pair.calls)} << 32) | raw(pair.locks); }

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
    const Pair pair{trail.calls, trail.locks};
    if (const std::uint32_t* known = numbers_.find(key(pair))) return SituationId{*known};
    std::uint32_t number = 0;
    if (!free_.empty()) {
      number = free_.back();
      free_.pop_back();
      situations_[number] = pair;
    } else if (situations_.size() < kLimit) {
      number = static_cast<std::uint32_t>(situations_.size());
      situations_.push_back(pair);
    } else {
      ++lost_;
      return SituationId::kUnknown;
    }
    numbers_[key(pair)] = number;
    return SituationId{number};
  }

  PathTable calls_;
  PathTable locks_;
  FlatMap<std::uint32_t> lock_numbers_;  // 1 + index into lock_ids_
  std::vector<SyncId> lock_ids_;
  FlatMap<std::uint32_t> numbers_;  // of (calls, locks)
  std::vector<Pair> situations_;
  std::vector<std::uint32_t> free_;  // numbers in situations_ that mean nothing now
  std::size_t collect_at_ = kFirstCollection;
  std::uint64_t lost_ = 0;
};

}  // namespace deadheat
