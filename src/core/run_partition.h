// SPDX-License-Identifier: Apache-2.0
// RunPartition: the shadow of an array, as few cells as its history allows.
//
// SlimState (section V.A) divides an array in one of six ways: COARSE, BLOCK,
// STRIDE, SPLIT, PREFIX, FINE. All of them, and what they cannot say, are sorted
// runs of bytes, each with one cell or with a period:
//
//   COARSE  one run                        STRIDE  one run with a period
//   SPLIT   two runs                       BLOCK   runs of one length
//   PREFIX  short runs, then a long one    FINE    a run for each element
//
// A footprint is committed by cutting runs where it begins and ends until it is
// exactly a union of parts (the paper's "sufficiently precise"), visiting the
// cell of each, and joining neighbours whose cells have become equal. So runs
// follow the history instead of a table of modes: a partition also grows coarse
// again, and irregular blocks, triangles and rows of a matrix need no mode.
//
// Within a run with a period p, a part is the bytes whose offset modulo p lies in
// an interval; the intervals of a run's parts cover [0, p). Offsets count from the
// start of the array, so cutting a run leaves the intervals as they are. A run
// has at least the length of its period: every part has bytes.
//
// Cost: a commit visits the parts of its footprint, and moves those behind it if
// their number changes. An array of very many parts is better off with ordinary
// cells; the owner decides.
//
// The verdicts are those of a cell per byte: cutting copies a cell, joining needs
// equal ones.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "base/growable_array.h"
#include "core/footprint.h"

namespace deadheat {

// The shape that a partition has, in the paper's words.
enum class PartitionShape : std::uint8_t { kCoarse, kSplit, kBlock, kStride, kPrefix, kRuns, kFine };
inline constexpr int kPartitionShapeCount = 7;

// Some bytes of an array: those of [begin, end) with offset modulo `period` in
// [phase, phase + length); all of them if `period` is 0.
struct PartBytes {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint32_t period = 0;
  std::uint32_t phase = 0;
  std::uint32_t length = 0;

  [[nodiscard]] std::uint64_t count() const {
    if (period == 0) return end - begin;
    const auto before = [&](std::uint64_t at) {
      const std::uint64_t rest = at % period;
      return at / period * length + (rest <= phase ? 0 : std::min<std::uint64_t>(rest - phase, length));
    };
    return before(end) - before(begin);
  }
  // Calls visit(begin, end) for each of its intervals, in order, until it returns false.
  template <class Visit>
  void for_each_interval(Visit&& visit) const {
    if (period == 0) {
      visit(begin, end);
      return;
    }
    for (std::uint64_t at = begin - begin % period + phase; at < end; at += period) {
      const std::uint64_t low = std::max(at, begin);
      const std::uint64_t high = std::min(at + length, end);
      if (low < high && !visit(low, high)) return;
    }
  }
};

// Policy: Cell, copy(), release(), interchangeable() as CellPolicy of byte_shadow.h.
template <class Policy, class Source = HeapSource>
class RunPartition {
 public:
  using Cell = typename Policy::Cell;

  // An array of so many bytes without history.
  explicit RunPartition(std::uint64_t size) { parts_.push_back(Part{{0, size, 0, 0, 0}, Cell{}}); }

  // Calls visit(cell, bytes) for the cell of each part of the footprint, whose
  // addresses are offsets here; `bytes` are those of the part, at least one and
  // all in the footprint. What is settled throughout, is_settled(cell) says, is
  // left alone; false then.
  template <class IsSettled, class Visit>
  bool access(Policy& policy, const Footprint& footprint, IsSettled&& is_settled, Visit&& visit) {
    DEADHEAT_DCHECK(footprint.end() <= size());
    if (footprint.begin == footprint.end() || is_settled_throughout(footprint, is_settled)) return false;
    Reach reach{footprint.begin, footprint.end()};
    if (footprint.is_dense()) {
      access_dense(policy, reach.begin, reach.end, visit);
    } else {
      reach = reach_of(footprint);
      access_strided(policy, footprint, reach, visit);
    }
    join(policy, reach.begin, reach.end);
    return true;
  }

  // These bytes have no history any more.
  void forget(Policy& policy, std::uint64_t begin, std::uint64_t end) {
    access_dense(policy, begin, end, [&](Cell& cell, const PartBytes&) {
      policy.release(cell);
      cell = Cell{};
    });
    join(policy, begin, end);
  }

  // Calls visit(cell, bytes) for all parts.
  template <class Visit>
  void for_each_part(Visit&& visit) {
    for (Part& part : parts_) visit(part.cell, std::as_const(part.bytes));
  }
  // The same for those that have bytes in [begin, end).
  template <class Visit>
  void for_each_part_in(std::uint64_t begin, std::uint64_t end, Visit&& visit) {
    for (std::uint32_t at = find(begin); at < parts_.size() && parts_[at].bytes.begin < end; ++at) {
      visit(parts_[at].cell, std::as_const(parts_[at].bytes));
    }
  }

  // Gives up what the cells hold.
  void release(Policy& policy) {
    for (Part& part : parts_) policy.release(part.cell);
    parts_.reset();
  }

  [[nodiscard]] std::uint64_t size() const { return parts_[parts_.size() - 1].bytes.end; }
  [[nodiscard]] std::uint32_t parts() const { return parts_.size(); }
  [[nodiscard]] std::size_t memory() const { return parts_.capacity() * sizeof(Part); }
  [[nodiscard]] PartitionShape shape() const;

 private:
  struct Part {
    PartBytes bytes;
    Cell cell;
  };
  // More parts than this in a period are no pattern: then each element on its own.
  static constexpr std::uint32_t kMaxPhases = 64;

  using Parts = GrowableArray<Part, Source>;
  struct Reach {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };

  static bool same_run(const PartBytes& one, const PartBytes& other) { return one.begin == other.begin; }

  // The first part of the run with this byte.
  [[nodiscard]] std::uint32_t find(std::uint64_t offset) const {
    std::uint32_t low = 0;
    std::uint32_t high = parts_.size();
    while (low < high) {
      const std::uint32_t middle = (low + high) / 2;
      if (parts_[middle].bytes.end <= offset) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }
  [[nodiscard]] std::uint32_t run_end(std::uint32_t at) const {
    std::uint32_t end = at + 1;
    while (end < parts_.size() && same_run(parts_[at].bytes, parts_[end].bytes)) ++end;
    return end;
  }

  template <class IsSettled>
  [[nodiscard]] bool is_settled_throughout(const Footprint& footprint, IsSettled&& is_settled) const {
    const std::uint64_t end = footprint.end();
    for (std::uint32_t at = find(footprint.begin); at < parts_.size() && parts_[at].bytes.begin < end; ++at) {
      const PartBytes& bytes = parts_[at].bytes;
      if (!is_apart(bytes, footprint) && !is_settled(parts_[at].cell)) return false;
    }
    return true;
  }
  // Surely none of the part's bytes is in the footprint.
  static bool is_apart(const PartBytes& bytes, const Footprint& footprint) {
    if (footprint.is_dense() || bytes.period != footprint.step) return false;
    const std::uint64_t phase = footprint.begin % footprint.step;
    const std::uint64_t wrapped = phase + footprint.size > footprint.step ? phase + footprint.size - footprint.step : 0;
    const bool is_in_first = bytes.phase < phase + footprint.size && phase < bytes.phase + bytes.length;
    return !is_in_first && bytes.phase >= wrapped;
  }

  // A run begins at `offset`.
  void cut(Policy& policy, std::uint64_t offset) {
    if (offset == 0 || offset >= size()) return;
    const std::uint32_t at = find(offset);
    const PartBytes run = parts_[at].bytes;
    if (run.begin == offset) return;
    if (run.period == 0) {
      open(at + 1, 1);
      parts_[at].bytes.end = offset;
      parts_[at + 1].bytes = {offset, run.end, 0, 0, 0};
      parts_[at + 1].cell = policy.copy(parts_[at].cell);
      return;
    }
    const std::uint32_t count = run_end(at) - at;
    Parts fresh;
    append(policy, fresh, at, count, run.begin, offset);
    append(policy, fresh, at, count, offset, run.end);
    replace(policy, at, count, fresh);
  }

  // Adds what the run of `count` parts at `at` has in [begin, end). Less than a
  // period of it has no period: every part has bytes.
  void append(Policy& policy, Parts& to, std::uint32_t at, std::uint32_t count, std::uint64_t begin,
              std::uint64_t end) {
    const std::uint32_t period = parts_[at].bytes.period;
    if (period == 0 || end - begin >= period) {
      for (std::uint32_t index = at; begin < end && index < at + count; ++index) {
        PartBytes bytes = parts_[index].bytes;
        bytes.begin = begin;
        bytes.end = end;
        to.push_back(Part{bytes, policy.copy(parts_[index].cell)});
      }
      return;
    }
    std::uint32_t index = at;
    while (begin < end) {
      const auto phase = static_cast<std::uint32_t>(begin % period);
      while (phase < parts_[index].bytes.phase || phase - parts_[index].bytes.phase >= parts_[index].bytes.length) {
        index = index + 1 == at + count ? at : index + 1;
      }
      const PartBytes& bytes = parts_[index].bytes;
      const std::uint64_t next = std::min(end, begin + (bytes.phase + bytes.length - phase));
      to.push_back(Part{{begin, next, 0, 0, 0}, policy.copy(parts_[index].cell)});
      begin = next;
    }
  }

  // Puts `fresh` in the place of `count` parts.
  void replace(Policy& policy, std::uint32_t at, std::uint32_t count, Parts& fresh) {
    for (std::uint32_t index = at; index < at + count; ++index) policy.release(parts_[index].cell);
    if (fresh.size() > count) {
      open(at + count, fresh.size() - count);
    } else {
      close(at + fresh.size(), count - fresh.size());
    }
    for (std::uint32_t index = 0; index < fresh.size(); ++index) parts_[at + index] = std::move(fresh[index]);
  }

  // Makes room for `count` parts before `at`; their content is anything.
  void open(std::uint32_t at, std::uint32_t count) {
    const std::uint32_t before = parts_.size();
    parts_.resize(before + count);
    for (std::uint32_t index = before; index > at; --index) parts_[index - 1 + count] = parts_[index - 1];
  }
  void close(std::uint32_t at, std::uint32_t count) {
    if (count == 0) return;
    for (std::uint32_t index = at + count; index < parts_.size(); ++index) parts_[index - count] = parts_[index];
    parts_.resize(parts_.size() - count);
  }

  template <class Visit>
  void access_dense(Policy& policy, std::uint64_t begin, std::uint64_t end, Visit&& visit) {
    cut(policy, begin);
    cut(policy, end);
    for (std::uint32_t at = find(begin); at < parts_.size() && parts_[at].bytes.begin < end; ++at) {
      visit(parts_[at].cell, std::as_const(parts_[at].bytes));
    }
  }

  // Where to cut for a strided footprint. The gaps next to it are not touched, so
  // anywhere in them will do: where a run begins already, else at a multiple of
  // the step, where the footprints beside it will want to be cut as well.
  [[nodiscard]] Reach reach_of(const Footprint& footprint) const {
    const std::uint64_t gap = footprint.step - footprint.size;
    const std::uint64_t low = footprint.begin > gap ? footprint.begin - gap : 0;
    const std::uint64_t high = std::min(size(), footprint.end() + gap);
    Reach reach{parts_[find(footprint.begin)].bytes.begin, parts_[find(footprint.end() - 1)].bytes.end};
    if (reach.begin < low) reach.begin = footprint.begin - footprint.begin % footprint.step;
    if (reach.begin < low) reach.begin = footprint.begin;
    if (reach.end > high) reach.end = (footprint.end() + footprint.step - 1) / footprint.step * footprint.step;
    if (reach.end > high) reach.end = footprint.end();
    return reach;
  }

  template <class Visit>
  void access_strided(Policy& policy, const Footprint& footprint, const Reach& reach, Visit&& visit) {
    cut(policy, reach.begin);
    cut(policy, reach.end);
    for (std::uint64_t offset = reach.begin; offset < reach.end;) {
      const std::uint32_t at = find(offset);
      offset = parts_[at].bytes.end;
      if (!give_period(policy, at, footprint)) {
        access_each(policy, at, footprint, visit);
        continue;
      }
      // All of the footprint's elements have these intervals.
      const std::uint32_t period = parts_[at].bytes.period;
      for (std::uint64_t low = footprint.begin % footprint.step; low < period; low += footprint.step) {
        access_phase(policy, at, low, low + footprint.size, visit);
      }
    }
  }

  // The footprint's elements one by one, as far as they lie in the run at `at`.
  template <class Visit>
  void access_each(Policy& policy, std::uint32_t at, const Footprint& footprint, Visit&& visit) {
    const PartBytes run = parts_[at].bytes;
    const std::uint32_t count = run_end(at) - at;
    const std::uint64_t skipped = run.begin > footprint.begin ? (run.begin - footprint.begin) / footprint.step : 0;
    const std::uint64_t end = std::min(run.end, footprint.end());
    Parts fresh;
    std::uint64_t done = run.begin;
    for (std::uint64_t element = footprint.begin + skipped * footprint.step; element < end; element += footprint.step) {
      const std::uint64_t low = std::max(element, run.begin);
      const std::uint64_t high = std::min(element + footprint.size, run.end);
      if (low >= high) continue;
      if (low == run.begin && high == run.end) return visit_parts(at, count, visit);
      append(policy, fresh, at, count, done, low);
      const std::uint32_t first = fresh.size();
      append(policy, fresh, at, count, low, high);
      for (std::uint32_t index = first; index < fresh.size(); ++index) {
        visit(fresh[index].cell, std::as_const(fresh[index].bytes));
      }
      done = high;
    }
    if (fresh.empty()) return;
    append(policy, fresh, at, count, done, run.end);
    replace(policy, at, count, fresh);
  }
  template <class Visit>
  void visit_parts(std::uint32_t at, std::uint32_t count, Visit&& visit) {
    for (std::uint32_t index = at; index < at + count; ++index) {
      visit(parts_[index].cell, std::as_const(parts_[index].bytes));
    }
  }

  // The run gets a period that the footprint's step divides; false if that needs too many parts.
  [[nodiscard]] bool give_period(Policy& policy, std::uint32_t at, const Footprint& footprint) {
    PartBytes& bytes = parts_[at].bytes;
    const std::uint64_t length = bytes.end - bytes.begin;
    if (length < 2 * footprint.step || footprint.step > ~std::uint32_t{0} / kMaxPhases) return false;
    if (bytes.period == 0) {
      bytes.period = static_cast<std::uint32_t>(footprint.step);
      bytes.phase = 0;
      bytes.length = bytes.period;
      return true;
    }
    if (bytes.period % footprint.step == 0) return bytes.period / footprint.step <= kMaxPhases;
    const std::uint64_t period = std::lcm(std::uint64_t{bytes.period}, footprint.step);
    const std::uint32_t end = run_end(at);
    const std::uint64_t times = period / bytes.period;
    if (period > length / 2 || times * (end - at) > kMaxPhases || period / footprint.step > kMaxPhases) return false;
    repeat(policy, at, end, static_cast<std::uint32_t>(times));
    return true;
  }

  // The run's period becomes `times` as long.
  void repeat(Policy& policy, std::uint32_t at, std::uint32_t end, std::uint32_t times) {
    const std::uint32_t count = end - at;
    const std::uint32_t period = parts_[at].bytes.period;
    open(end, count * (times - 1));
    for (std::uint32_t index = 0; index < count * times; ++index) {
      Part& part = parts_[at + index];
      if (index >= count) {
        part = parts_[at + index % count];
        part.cell = policy.copy(part.cell);
        part.bytes.phase += index / count * period;
      }
    }
    for (std::uint32_t index = 0; index < count * times; ++index) parts_[at + index].bytes.period = period * times;
  }

  // The parts of the run at `at` within the interval of phases.
  template <class Visit>
  void access_phase(Policy& policy, std::uint32_t at, std::uint64_t low, std::uint64_t high, Visit&& visit) {
    const std::uint32_t period = parts_[at].bytes.period;
    if (high > period && low < period) {  // around the corner
      access_phase(policy, at, low, period, visit);
      return access_phase(policy, at, 0, high - period, visit);
    }
    if (low >= period) return;
    cut_phase(policy, at, static_cast<std::uint32_t>(low));
    cut_phase(policy, at, static_cast<std::uint32_t>(high));
    const std::uint32_t end = run_end(at);
    for (std::uint32_t index = at; index < end; ++index) {
      Part& part = parts_[index];
      if (part.bytes.phase >= low && part.bytes.phase < high) visit(part.cell, std::as_const(part.bytes));
    }
  }

  // An interval of phases of the run at `at` begins at `phase`.
  void cut_phase(Policy& policy, std::uint32_t at, std::uint32_t phase) {
    const std::uint32_t end = run_end(at);
    for (std::uint32_t index = at; index < end; ++index) {
      const PartBytes bytes = parts_[index].bytes;
      if (phase <= bytes.phase || phase >= bytes.phase + bytes.length) continue;
      open(index + 1, 1);
      Part& right = parts_[index + 1];
      right.bytes = bytes;
      right.bytes.phase = phase;
      right.bytes.length = bytes.phase + bytes.length - phase;
      right.cell = policy.copy(parts_[index].cell);
      parts_[index].bytes.length = phase - bytes.phase;
      return;
    }
  }

  // Joins what has become equal, from the run before `begin` to the one after
  // `end`, moving each part once.
  void join(Policy& policy, std::uint64_t begin, std::uint64_t end) {
    std::uint32_t at = find(begin == 0 ? 0 : begin - 1);
    std::uint32_t read = run_end(at);
    std::uint32_t at_end = gather(policy, at, read, at);
    while (read < parts_.size() && parts_[at].bytes.end <= end) {
      const std::uint32_t read_end = run_end(read);
      const std::uint32_t next_end = gather(policy, read, read_end, at_end);
      read = read_end;
      if (are_joined(policy, at, at_end, next_end)) {
        const std::uint64_t joined_end = parts_[at_end].bytes.end;
        for (std::uint32_t index = at; index < at_end; ++index) parts_[index].bytes.end = joined_end;
        for (std::uint32_t index = at_end; index < next_end; ++index) policy.release(parts_[index].cell);
      } else {
        at = at_end;
        at_end = next_end;
      }
    }
    close(at_end, read - at_end);
    give_back_memory();
  }

  // Moves a run down to `to`, neighbouring phases with equal cells joined; a run
  // whose bytes are all alike loses its period. Returns its new end.
  std::uint32_t gather(Policy& policy, std::uint32_t from, std::uint32_t end, std::uint32_t to) {
    if (to != from) parts_[to] = parts_[from];
    std::uint32_t last = to;
    for (std::uint32_t index = from + 1; index < end; ++index) {
      if (policy.interchangeable(parts_[last].cell, parts_[index].cell)) {
        parts_[last].bytes.length += parts_[index].bytes.length;
        policy.release(parts_[index].cell);
      } else if (++last != index) {
        parts_[last] = parts_[index];
      }
    }
    if (last == to) {
      PartBytes& bytes = parts_[to].bytes;
      bytes.period = 0;
      bytes.phase = 0;
      bytes.length = 0;
    }
    return last + 1;
  }

  // The runs [at, next) and [next, end) are one.
  [[nodiscard]] bool are_joined(Policy& policy, std::uint32_t at, std::uint32_t next, std::uint32_t end) const {
    const std::uint32_t count = next - at;
    if (end - next != count) return false;
    for (std::uint32_t index = 0; index < count; ++index) {
      const PartBytes& one = parts_[at + index].bytes;
      const PartBytes& other = parts_[next + index].bytes;
      if (one.period != other.period || one.phase != other.phase) return false;
      if (!policy.interchangeable(parts_[at + index].cell, parts_[next + index].cell)) return false;
    }
    return true;
  }

  // A partition that was fine and is coarse again keeps little.
  void give_back_memory() {
    if (parts_.capacity() < 64 || parts_.size() > parts_.capacity() / 8) return;
    Parts tight(parts_);
    parts_ = std::move(tight);
  }

  Parts parts_;
};

template <class Policy, class Source>
PartitionShape RunPartition<Policy, Source>::shape() const {
  const std::uint32_t count = parts_.size();
  if (count == 1) return PartitionShape::kCoarse;
  if (run_end(0) == count) return PartitionShape::kStride;
  if (count == 2) return PartitionShape::kSplit;
  if (count > size() / 16) return PartitionShape::kFine;
  std::uint64_t shortest = ~std::uint64_t{0};
  bool has_period = false;
  for (std::uint32_t at = 0; at + 1 < count; ++at) {  // the last one may be cut short
    shortest = std::min(shortest, parts_[at].bytes.end - parts_[at].bytes.begin);
    has_period = has_period || parts_[at].bytes.period != 0;
  }
  const PartBytes& last = parts_[count - 1].bytes;
  // The paper's threshold: all but a quarter is one part.
  if (last.period == 0 && last.begin < size() / 4) return PartitionShape::kPrefix;
  if (has_period || last.period != 0) return PartitionShape::kRuns;
  // Blocks that happen to be alike are joined, but most are there.
  bool has_blocks = size() / shortest <= 2 * std::uint64_t{count};
  for (std::uint32_t at = 0; at + 1 < count; ++at) {
    has_blocks = has_blocks && (parts_[at].bytes.end - parts_[at].bytes.begin) % shortest == 0;
  }
  return has_blocks ? PartitionShape::kBlock : PartitionShape::kRuns;
}

}  // namespace deadheat
