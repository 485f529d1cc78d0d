// SPDX-License-Identifier: Apache-2.0
// SlimState: FastTrack with few cells and few checks for arrays (docs/slimstate.md).
//
// SlimShadow takes the place of the byte shadow in DetectorEngine. Memory that an
// Alloc event made, if there are at least 64 bytes of it, is an array until it is
// allocated again: its histories are a RunPartition, one cell for all bytes that
// have been accessed alike. Accesses to it are not checked one by one. They extend
// a footprint of their thread and place in the code, and the footprint is checked
// as a whole, part by part, before the thread's clock changes. Everything else
// is in a ByteShadow.
//
// Exactness. Between two changes of a thread's clock nobody can learn of its
// accesses in that stretch, and it learns of nobody's. So for any access of another
// thread, the two are concurrent or not whichever is checked first, and checking
// at the end of the stretch is checking another order of events in which the same
// pairs are ordered. The rules find a race on exactly the bytes that have one,
// in any such order. What changes the meaning of later accesses (Free, Alloc,
// BenignRange) waits for the footprints of all threads into its arrays.
//
// Not every array is worth it. A commit costs a few checks, and in a partition of
// many parts a cut moves all parts behind it. Each array keeps account of what its
// footprints saved and cost; when it has lost more than it would cost to give it
// ordinary cells, it gets them, with its history, and is no array any more.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "core/access_rules.h"
#include "core/array_index.h"
#include "core/byte_shadow.h"
#include "core/detector.h"
#include "core/fasttrack.h"
#include "core/pending_footprints.h"
#include "core/run_partition.h"
#include "core/slim_counters.h"
#include "core/touched_elements.h"

namespace deadheat {

// FastTrack's cells. Arrays are often read by all threads, so parts with equal
// sets are worth joining too.
class SlimCells : public FastTrack {
 public:
  [[nodiscard]] bool interchangeable(const Cell& one, const Cell& other) { return has_same_history(one, other); }
};

// A Policy as for ByteShadow; besides, is_same_epoch<AccessKind>(clock, cell): the
// access would change nothing.
//
// Functions that may check accesses take `check`, which they call as
// check.operator()<AccessKind>(access, cell, where), `where` being Touched or
// TouchedElements: now for an access or free of their own, or for those of
// footprints that have to be committed first.
template <CellPolicy Policy>
class SlimShadow {
 public:
  using Cell = typename Policy::Cell;
  using Footprints = PendingFootprints;

  static constexpr std::uint64_t kSmallestArray = 64;
  // Beyond this the index would be large, and it is hardly one array.
  static constexpr std::uint64_t kLargestArray = std::uint64_t{1} << 34;

  explicit SlimShadow(Policy& policy) : policy_(policy), bytes_(policy), arrays_(1) {}
  SlimShadow(const SlimShadow&) = delete;
  SlimShadow& operator=(const SlimShadow&) = delete;
  ~SlimShadow() = default;

  // An access to [address, address + access.size) by the thread with these footprints.
  template <AccessKind kKind, class Check>
  void access(Footprints& own, const ObservedAccess& access, Address address, Check&& check) {
    PendingFootprint* pending = own.find(kKind, access);
    if (pending != nullptr && pending->takes(address)) [[likely]] {
      ++pending->accesses;
      return;
    }
    const Address last = last_byte(address, access.size);
    const ArrayNumber number = index_.near(address);
    if (number == ArrayNumber::kNone && access.size <= ArrayIndex::kGranule &&
        index_.near(last) == ArrayNumber::kNone) {
      return access_bytes<kKind>(access, address, last, check);
    }
    if (number == ArrayNumber::kNone || access.size > kLongestElement || !is_inside(address, last, number)) {
      return access_pieces<kKind>(access, address, last, check);
    }
    begin_footprint<kKind>(own, pending, access, address, number, check);
  }

  // Checks what the thread has pending: its clock is about to change.
  template <class Check>
  void commit(Footprints& own, Check&& check) {
    if (own.is_empty()) [[likely]]
      return;
    commit_all(own, check);
  }

  // Checks what any thread has pending for arrays in the range.
  template <class Check>
  void settle(Address address, std::uint64_t size, Check&& check) {
    for (const Piece& piece : pieces(address, last_byte(address, size))) {
      if (piece.array != ArrayNumber::kNone) settle_array(*arrays_[raw(piece.array)], check);
    }
  }

  // A free of the whole range; size is not 0.
  template <class Check>
  void free(Address address, const ObservedAccess& access, Check&& check) {
    settle(address, access.size, check);
    for (const Piece& piece : pieces(address, last_byte(address, access.size))) {
      if (piece.array == ArrayNumber::kNone) {
        bytes_.free(piece.first, piece.last - piece.first + 1, access.record, [&](Cell& cell, const Touched& touched) {
          check.template operator()<AccessKind::kFree>(access, cell, touched);
        });
        continue;
      }
      Array& array = *arrays_[raw(piece.array)];
      count_life(array);  // with the shape that it had in its life
      access_piece<AccessKind::kFree>(access, address, piece, check);
      array.loss = 0;
      array.is_loser = false;
    }
  }

  // New memory: no history, and perhaps an array.
  template <class Check>
  void forget(Address address, std::uint64_t size, Check&& check) {
    settle(address, size, check);
    const Address last = last_byte(address, size);
    for (const Piece& piece : pieces(address, last)) {
      if (piece.array == ArrayNumber::kNone) {
        bytes_.forget(piece.first, piece.last - piece.first + 1);
      } else {
        take_away(piece);
      }
    }
    if (size >= kSmallestArray && size <= kLargestArray && last - address == size - 1) make_array(address, size);
  }

  // Calls visit(record) for every record in any history. Nothing is pending.
  template <class Visit>
  void for_each_record(Visit&& visit) {
    for (const std::unique_ptr<Array>& array : arrays_) {
      if (array == nullptr) continue;
      array->cells.for_each_part([&](Cell& cell, const PartBytes&) { policy_.for_each_record(cell, visit); });
    }
    bytes_.for_each_record(visit);
  }

  void prefetch_page(Address address) const { bytes_.prefetch_page(address); }
  void prefetch_word(Address address) const { bytes_.prefetch_word(address); }

  [[nodiscard]] std::uint64_t pages() const { return bytes_.pages(); }
  [[nodiscard]] std::uint64_t splits() const { return bytes_.splits(); }
  // Those of arrays, with the living ones as they are.
  [[nodiscard]] std::vector<Counter> counters() const {
    SlimCounters all = counters_;
    for (const std::unique_ptr<Array>& array : arrays_) {
      if (array != nullptr && !array->is_counted) all.count_array(array->life());
    }
    return all.list();
  }

 private:
  // Longer accesses make no footprints; they are as good as one.
  static constexpr std::uint64_t kLongestElement = 1U << 16;

  struct Array {
    Array(ArrayNumber its_number, Address address, std::uint64_t bytes)
        : number(its_number), begin(address), size(bytes), bytes_left(bytes), cells(bytes) {}

    ArrayNumber number;
    Address begin;
    std::uint64_t size;
    std::uint64_t bytes_left;  // not yet allocated again; less than size: it has holes
    RunPartition<Policy> cells;
    PendingFootprint* pending = nullptr;
    std::uint64_t smallest_access = 0;  // 0: none yet
    std::int64_t loss = 0;              // checks that footprints cost and did not save
    std::int64_t bearable_loss = 0;     // up to which there is nothing to think about
    bool is_loser = false;              // to be given up
    bool is_counted = false;

    [[nodiscard]] ArrayLife life() const { return {size, cells.parts(), smallest_access, cells.shape()}; }
  };

  // A range in one array, or in none.
  struct Piece {
    Address first = 0;
    Address last = 0;
    ArrayNumber array = ArrayNumber::kNone;
  };

  static Address last_byte(Address address, std::uint64_t size) {
    const Address last = address + size - 1;
    return last < address ? ~Address{0} : last;
  }

  [[nodiscard]] bool is_inside(Address first, Address last, ArrayNumber number) const {
    const Array& array = *arrays_[raw(number)];
    return first >= array.begin && last - array.begin < array.size && array.bytes_left == array.size;
  }

  // The range as it lies in arrays and beside them, in order.
  [[nodiscard]] std::vector<Piece> pieces(Address first, Address last) const {
    std::vector<Piece> result;
    Address at = first;
    index_.for_each(first, last, [&](Address from, Address to, ArrayNumber array) {
      if (at < from) result.push_back({at, from - 1, ArrayNumber::kNone});
      result.push_back({from, to, array});
      at = to + 1;
    });
    const bool ends_in_array = !result.empty() && result.back().last == last;
    if (!ends_in_array) result.push_back({at, last, ArrayNumber::kNone});
    return result;
  }

  template <AccessKind kKind, class Check>
  void access_bytes(const ObservedAccess& access, Address first, Address last, Check&& check) {
    bytes_.access(first, last - first + 1,
                  [&](Cell& cell, const Touched& touched) { check.template operator()<kKind>(access, cell, touched); });
  }
  // Across the borders of arrays, or in an array with holes: at once.
  template <AccessKind kKind, class Check>
  [[gnu::noinline]] void access_pieces(const ObservedAccess& access, Address first, Address last, Check&& check) {
    for (const Piece& piece : pieces(first, last)) {
      if (piece.array == ArrayNumber::kNone) {
        access_bytes<kKind>(access, piece.first, piece.last, check);
      } else {
        access_piece<kKind>(access, first, piece, check);
      }
    }
  }
  template <AccessKind kKind, class Check>
  void access_piece(const ObservedAccess& access, Address address, const Piece& piece, Check&& check) {
    Array& array = *arrays_[raw(piece.array)];
    if (kKind != AccessKind::kFree) note_size(array, access.size);
    array.cells.access(
        policy_, Footprint::dense(piece.first - array.begin, piece.last - array.begin + 1),
        [](const Cell&) { return false; },
        [&](Cell& cell, const PartBytes& bytes) {
          check.template operator()<kKind>(access, cell, TouchedElements{array.begin, bytes, address, access.size});
        });
  }

  template <AccessKind kKind, class Check>
  [[gnu::noinline]] void begin_footprint(Footprints& own, PendingFootprint* pending, const ObservedAccess& access,
                                         Address address, ArrayNumber number, Check&& check) {
    if (pending != nullptr && pending->array != ArrayNumber::kNone) commit_one(*pending, check);
    if (pending == nullptr && own.is_full()) commit_all(own, check);
    give_up_losers(check);
    if (arrays_[raw(number)] == nullptr)
      return access_bytes<kKind>(access, address, address + (access.size - 1), check);
    if (pending == nullptr) {
      pending = &take_free_footprint();
      pending->access = access;
      pending->kind = kKind;
      own.add(*pending);
    }
    Array& array = *arrays_[raw(number)];
    note_size(array, access.size);
    pending->access.event_index = access.event_index;
    pending->array = number;
    pending->array_begin = array.begin;
    pending->last_offset = array.size - access.size;
    pending->growing.start(address, static_cast<std::uint32_t>(access.size));
    pending->accesses = 1;
    pending->previous = nullptr;
    pending->next = array.pending;
    if (array.pending != nullptr) array.pending->previous = pending;
    array.pending = pending;
  }

  static void note_size(Array& array, std::uint64_t size) {
    if (array.smallest_access == 0 || size < array.smallest_access) array.smallest_access = size;
  }

  template <class Check>
  [[gnu::noinline]] void commit_all(Footprints& own, Check&& check) {
    own.for_each([&](PendingFootprint& pending) {
      if (pending.array != ArrayNumber::kNone) commit_one(pending, check);
      free_.push_back(&pending);
    });
    own.clear();
    give_up_losers(check);
  }

  template <class Check>
  void settle_array(Array& array, Check&& check) {
    while (array.pending != nullptr) commit_one(*array.pending, check);
  }

  // The thread's clock is still that of the accesses.
  template <class Check>
  void commit_one(PendingFootprint& pending, Check&& check) {
    DEADHEAT_DCHECK(pending.access.clock->epoch() == pending.access.record.epoch());
    Array& array = *arrays_[raw(pending.array)];
    const std::uint32_t parts_before = array.cells.parts();
    const std::uint64_t visited = visit_parts(pending, array, check);
    unlink(pending, array);
    ++counters_.footprints;
    counters_.accesses += pending.accesses;
    counters_.checks += visited;
    // Measured in checks of a byte shadow: a commit costs about two, a part one, and
    // moving the parts behind a cut an eighth each.
    const std::uint64_t moved = array.cells.parts() == parts_before ? 0 : parts_before / 8;
    array.loss += static_cast<std::int64_t>(2 + visited + moved) - static_cast<std::int64_t>(pending.accesses);
    // A good past does not pay for a bad present without end.
    array.loss = std::max(array.loss, -static_cast<std::int64_t>(array.size / kWord));
    if (array.loss > array.bearable_loss && !array.is_loser) consider(array);
  }

  template <class Check>
  std::uint64_t visit_parts(const PendingFootprint& pending, Array& array, Check&& check) {
    Footprint footprint = pending.growing.get();
    const std::uint64_t step = footprint.count == 1 ? footprint.size : footprint.step;
    const Address first_element = footprint.begin;
    footprint.begin -= array.begin;
    std::uint64_t visited = 0;
    const auto visit_as = [&]<AccessKind kKind>() {
      array.cells.access(
          policy_, footprint,
          [&](const Cell& cell) { return policy_.template is_same_epoch<kKind>(*pending.access.clock, cell); },
          [&](Cell& cell, const PartBytes& bytes) {
            ++visited;
            check.template operator()<kKind>(pending.access, cell,
                                             TouchedElements{array.begin, bytes, first_element, step});
          });
    };
    switch (pending.kind) {
      case AccessKind::kRead:
        visit_as.template operator()<AccessKind::kRead>();
        break;
      case AccessKind::kWrite:
        visit_as.template operator()<AccessKind::kWrite>();
        break;
      case AccessKind::kAtomicRead:
        visit_as.template operator()<AccessKind::kAtomicRead>();
        break;
      default:
        visit_as.template operator()<AccessKind::kAtomicWrite>();
        break;
    }
    return visited;
  }

  static void unlink(PendingFootprint& pending, Array& array) {
    (pending.previous == nullptr ? array.pending : pending.previous->next) = pending.next;
    if (pending.next != nullptr) pending.next->previous = pending.previous;
    pending.array = ArrayNumber::kNone;
  }

  // Whether the array would be better off with ordinary cells.
  void consider(Array& array) {
    std::uint64_t words = 0;
    const Cell nothing{};
    array.cells.for_each_part([&](Cell& cell, const PartBytes& bytes) {
      if (policy_.interchangeable(cell, nothing)) return;
      const std::uint64_t length = bytes.end - bytes.begin;
      words += 1 + (bytes.period == 0 ? length : length / bytes.period * bytes.length) / kWord;
    });
    array.bearable_loss = static_cast<std::int64_t>(kLeastLoss + words);
    if (array.loss <= array.bearable_loss) return;
    losers_.push_back(array.number);
    array.is_loser = true;
  }

  // Not in the middle of a commit: it has the array in hand.
  template <class Check>
  void give_up_losers(Check&& check) {
    while (!losers_.empty()) {
      const ArrayNumber number = losers_.back();
      losers_.pop_back();
      Array* array = arrays_[raw(number)].get();
      if (array == nullptr || !array->is_loser) continue;
      settle_array(*array, check);
      give_up(*array);
    }
  }

  // The array's cells become ordinary ones.
  void give_up(Array& array) {
    if (!array.is_counted) counters_.count_given_up(array.life());
    const Cell nothing{};
    for (const Piece& piece : pieces(array.begin, array.begin + (array.size - 1))) {
      if (piece.array != array.number) continue;
      array.cells.for_each_part_in(piece.first - array.begin, piece.last - array.begin + 1,
                                   [&](Cell& cell, const PartBytes& bytes) {
                                     if (policy_.interchangeable(cell, nothing)) return;
                                     bytes.for_each_interval([&](std::uint64_t begin, std::uint64_t end) {
                                       move_to_bytes(cell, std::max(piece.first, array.begin + begin),
                                                     std::min(piece.last, array.begin + (end - 1)));
                                       return true;
                                     });
                                   });
      index_.erase(piece.first, piece.last);
    }
    destroy(array);
  }
  void move_to_bytes(const Cell& cell, Address first, Address last) {
    if (first > last) return;
    bytes_.access(first, last - first + 1, [&](Cell& to, const Touched&) {
      policy_.release(to);
      to = policy_.copy(cell);
    });
  }

  // The piece is allocated again.
  void take_away(const Piece& piece) {
    Array& array = *arrays_[raw(piece.array)];
    count_life(array);
    index_.erase(piece.first, piece.last);
    array.bytes_left -= piece.last - piece.first + 1;
    if (array.bytes_left == 0) return destroy(array);
    const std::uint32_t parts_before = array.cells.parts();
    array.cells.forget(policy_, piece.first - array.begin, piece.last - array.begin + 1);
    array.loss += 2 + parts_before / 8;
    if (array.loss > array.bearable_loss && !array.is_loser) consider(array);
  }

  void make_array(Address address, std::uint64_t size) {
    std::uint32_t number = 0;
    if (free_numbers_.empty()) {
      number = static_cast<std::uint32_t>(arrays_.size());
      arrays_.emplace_back();
    } else {
      number = free_numbers_.back();
      free_numbers_.pop_back();
    }
    arrays_[number] = std::make_unique<Array>(ArrayNumber{number}, address, size);
    index_.assign(address, address + (size - 1), ArrayNumber{number});
  }
  void destroy(Array& array) {
    const ArrayNumber number = array.number;
    array.cells.release(policy_);
    arrays_[raw(number)].reset();
    free_numbers_.push_back(raw(number));
  }

  void count_life(Array& array) {
    if (!array.is_counted) counters_.count_array(array.life());
    array.is_counted = true;
  }

  PendingFootprint& take_free_footprint() {
    if (free_.empty()) return footprints_.emplace_back();
    PendingFootprint* footprint = free_.back();
    free_.pop_back();
    return *footprint;
  }

  static constexpr std::uint64_t kWord = 8;
  static constexpr std::uint64_t kLeastLoss = 16;

  Policy& policy_;
  ByteShadow<Policy> bytes_;
  ArrayIndex index_;
  std::vector<std::unique_ptr<Array>> arrays_;  // by ArrayNumber; nullptr: not in use
  std::vector<std::uint32_t> free_numbers_;
  std::vector<ArrayNumber> losers_;
  std::deque<PendingFootprint> footprints_;
  std::vector<PendingFootprint*> free_;  // of footprints_
  SlimCounters counters_;
};

}  // namespace deadheat
