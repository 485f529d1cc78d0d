// SPDX-License-Identifier: Apache-2.0
// The partition of an array against one cell per byte, and its shapes in the
// words of the SlimState paper (section V.A: the figure of the modes, Table I).
// Cells are of three toy kinds: a log of everything that touched the byte (a lost
// cut or a wrong join shows at once), the last access (so that joining happens),
// and counted ones (to find those released twice or never).
#include "core/run_partition.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "core/core_fixture.h"

namespace deadheat {
namespace {

struct LogPolicy {
  using Cell = std::vector<std::uint32_t>;
  static Cell copy(const Cell& cell) { return cell; }
  static void release(Cell& cell) { cell.clear(); }
  static bool interchangeable(const Cell& one, const Cell& other) { return one == other; }
  static void touch(Cell& cell, std::uint32_t number) { cell.push_back(number); }
  static bool is_settled(const Cell& cell, std::uint32_t number) { return !cell.empty() && cell.back() == number; }
};

struct LastPolicy {
  using Cell = std::uint32_t;
  static Cell copy(const Cell& cell) { return cell; }
  static void release(Cell& cell) { cell = 0; }
  static bool interchangeable(const Cell& one, const Cell& other) { return one == other; }
  static void touch(Cell& cell, std::uint32_t number) { cell = number; }
  static bool is_settled(const Cell& cell, std::uint32_t number) { return cell == number; }
};

std::set<std::uint64_t> bytes_of(const Footprint& footprint) {
  std::set<std::uint64_t> bytes;
  for (std::uint64_t element = 0; element < footprint.count; ++element) {
    for (std::uint64_t at = 0; at < footprint.size; ++at) bytes.insert(footprint.begin + element * footprint.step + at);
  }
  return bytes;
}

// Adds the part's bytes; none may come twice, and there must be some.
void collect(const PartBytes& part, std::set<std::uint64_t>& bytes) {
  bool has_bytes = false;
  part.for_each_interval([&](std::uint64_t begin, std::uint64_t end) {
    has_bytes = true;
    for (std::uint64_t at = begin; at < end; ++at) EXPECT_TRUE(bytes.insert(at).second) << "byte " << at << " twice";
    return true;
  });
  EXPECT_TRUE(has_bytes) << "a part without bytes";
}

// The partition and, beside it, a cell for every byte.
template <class Policy>
class Model {
 public:
  explicit Model(std::uint64_t size) : partition_(size), cells_(size) {}

  void access(const Footprint& footprint, std::uint32_t number) {
    const std::set<std::uint64_t> wanted = bytes_of(footprint);
    bool is_settled = true;
    for (const std::uint64_t at : wanted) is_settled = is_settled && Policy::is_settled(cells_[at], number);
    std::set<std::uint64_t> visited;
    partition_.access(
        policy_, footprint, [&](const auto& cell) { return Policy::is_settled(cell, number); },
        [&](auto& cell, const PartBytes& part) {
          compare(cell, part);
          collect(part, visited);
          if (!Policy::is_settled(cell, number)) Policy::touch(cell, number);
        });
    // What is settled may be left alone, as a whole.
    if (!is_settled || !visited.empty()) {
      EXPECT_EQ(visited, wanted);
    }
    for (const std::uint64_t at : wanted) {
      if (!Policy::is_settled(cells_[at], number)) Policy::touch(cells_[at], number);
    }
  }
  void forget(std::uint64_t begin, std::uint64_t end) {
    partition_.forget(policy_, begin, end);
    for (std::uint64_t at = begin; at < end; ++at) cells_[at] = {};
  }
  // Every byte is in one part, whose cell is the byte's.
  void check() {
    std::set<std::uint64_t> bytes;
    std::uint32_t parts = 0;
    partition_.for_each_part([&](auto& cell, const PartBytes& part) {
      ++parts;
      compare(cell, part);
      collect(part, bytes);
    });
    EXPECT_EQ(bytes.size(), cells_.size());
    EXPECT_EQ(parts, partition_.parts());
    EXPECT_EQ(partition_.size(), cells_.size());
  }
  const RunPartition<Policy>& partition() { return partition_; }

 private:
  void compare(const typename Policy::Cell& cell, const PartBytes& part) {
    part.for_each_interval([&](std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t at = begin; at < end; ++at) EXPECT_EQ(cell, cells_[at]) << "byte " << at;
      return !testing::Test::HasFailure();
    });
  }

  Policy policy_;
  RunPartition<Policy> partition_;
  std::vector<typename Policy::Cell> cells_;
};

// Dense ones, strides that fit together, strides that do not, elements that go
// around the corner of a period, all but the last element, single ones.
Footprint random_footprint(Random& random, std::uint64_t array_size) {
  const std::uint64_t size = 1 + random.below(random.below(4) == 0 ? 17 : 8);
  const std::uint64_t begin = random.below(2) == 0 ? random.below(array_size - size) : random.below(32);
  std::uint64_t step = size;
  switch (random.below(4)) {
    case 0:
      break;
    case 1:
      step = size + random.below(40);
      break;
    default:
      step = std::uint64_t{8} << random.below(4);
      step *= 1 + random.below(3);
      break;
  }
  if (step < size) step = size;
  const std::uint64_t most = (array_size - begin - size) / step + 1;
  const std::uint64_t count = random.below(3) == 0 ? 1 + random.below(most) : most;
  return {begin, step, count, static_cast<std::uint32_t>(size)};
}

template <class Policy>
void run_random(std::uint64_t seed, std::uint32_t numbers) {
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  Random random(seed);
  const std::uint64_t size = 64 + random.below(seed % 3 == 0 ? 1500 : 300);
  Model<Policy> model(size);
  for (std::uint32_t step = 0; step < 60 && !testing::Test::HasFailure(); ++step) {
    if (random.below(12) == 0) {
      const std::uint64_t begin = random.below(size);
      model.forget(begin, begin + random.below(size - begin + 1));
    } else {
      model.access(random_footprint(random, size), 1 + static_cast<std::uint32_t>(random.below(numbers)));
    }
    if (step % 10 == 0) model.check();
  }
  model.check();
}

TEST(RunPartition, RandomFootprintsMatchALogPerByte) {
  for (std::uint64_t seed = 1; seed <= 150 && !HasFailure(); ++seed) run_random<LogPolicy>(seed, 1000);
}

TEST(RunPartition, RandomFootprintsMatchALastAccessPerByte) {
  for (std::uint64_t seed = 1; seed <= 300 && !HasFailure(); ++seed) run_random<LastPolicy>(seed, 3);
}

TEST(RunPartition, EveryCellIsReleasedOnce) {
  for (std::uint64_t seed = 1; seed <= 100 && !HasFailure(); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    CountingPolicy policy;
    const std::uint64_t size = 64 + random.below(500);
    RunPartition<CountingPolicy> partition(size);
    for (int step = 0; step < 60; ++step) {
      const auto number = 1 + static_cast<std::uint32_t>(random.below(3));
      partition.access(
          policy, random_footprint(random, size), [&](const CountingPolicy::Cell& cell) { return cell.last == number; },
          [&](CountingPolicy::Cell& cell, const PartBytes&) {
            if (cell.handle == 0) cell.handle = policy.make();
            cell.last = number;
          });
      if (random.below(10) == 0) partition.forget(policy, 0, random.below(size));
      std::set<int> held;
      partition.for_each_part([&](CountingPolicy::Cell& cell, const PartBytes&) {
        if (cell.handle != 0) {
          EXPECT_TRUE(held.insert(cell.handle).second) << "two parts share a cell";
        }
      });
      EXPECT_EQ(held, policy.live);
    }
    partition.release(policy);
    EXPECT_TRUE(policy.live.empty()) << policy.live.size() << " cells leaked";
  }
}

// An array of elements of 8 bytes.
class Elements {
 public:
  explicit Elements(std::uint64_t count) : count_(count), partition_(8 * count) {}

  // The paper's <b : e : k> by the access `number`.
  void access(std::uint64_t first, std::uint64_t last, std::uint64_t step, std::uint32_t number) {
    visits_ = 0;
    partition_.access(
        policy_, {8 * first, 8 * step, (last - first) / step + 1, 8},
        [&](std::uint32_t cell) { return cell == number; },
        [&](std::uint32_t& cell, const PartBytes&) {
          cell = number;
          ++visits_;
        });
  }
  // Cells checked by the last access.
  [[nodiscard]] int visits() const { return visits_; }
  [[nodiscard]] PartitionShape shape() const { return partition_.shape(); }
  [[nodiscard]] std::uint32_t parts() const { return partition_.parts(); }
  [[nodiscard]] std::size_t memory() const { return partition_.memory(); }

  // A letter per element, one for each part, as in the paper's figure.
  std::string letters() {
    std::map<std::uint64_t, std::uint32_t> parts;  // by byte
    std::uint32_t number = 0;
    partition_.for_each_part([&](std::uint32_t&, const PartBytes& part) {
      part.for_each_interval([&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t at = begin; at < end; ++at) parts[at] = number;
        return true;
      });
      ++number;
    });
    std::map<std::uint32_t, char> names;
    std::string result;
    for (std::uint64_t element = 0; element < count_; ++element) {
      for (std::uint64_t byte = 1; byte < 8; ++byte) EXPECT_EQ(parts[8 * element + byte], parts[8 * element]);
      const char next = static_cast<char>('A' + names.size());
      result += names.try_emplace(parts[8 * element], next).first->second;
    }
    return result;
  }

 private:
  std::uint64_t count_;
  LastPolicy policy_;
  RunPartition<LastPolicy> partition_;
  int visits_ = 0;
};

TEST(RunPartition, HasTheModesOfThePapersFigure) {
  Elements coarse(8);
  coarse.access(0, 7, 1, 1);
  EXPECT_EQ(coarse.letters(), "AAAAAAAA");
  EXPECT_EQ(coarse.shape(), PartitionShape::kCoarse);

  Elements block(8);
  block.access(0, 3, 1, 1);
  block.access(4, 7, 1, 2);
  EXPECT_EQ(block.letters(), "AAAABBBB");

  Elements stride(8);
  for (std::uint64_t at = 0; at < 4; ++at) stride.access(at, at + 4, 4, 1 + static_cast<std::uint32_t>(at));
  EXPECT_EQ(stride.letters(), "ABCDABCD");
  EXPECT_EQ(stride.shape(), PartitionShape::kStride);

  Elements split(8);
  split.access(0, 4, 1, 1);
  EXPECT_EQ(split.letters(), "AAAAABBB");
  EXPECT_EQ(split.shape(), PartitionShape::kSplit);

  Elements prefix(8);
  for (std::uint64_t at = 0; at < 3; ++at) prefix.access(at, at, 1, 1 + static_cast<std::uint32_t>(at));
  EXPECT_EQ(prefix.letters(), "ABCDDDDD");
}

// The rows of Table I. What the paper does by rule here follows from cutting;
// the parts are never more than the paper's.
class TableOne : public testing::Test {
 protected:
  static constexpr std::uint64_t kCount = 64;
  Elements array{kCount};
};

TEST_F(TableOne, CoarseStaysCoarseUnderTheWholeArray) {
  array.access(0, 63, 1, 1);
  EXPECT_EQ(array.shape(), PartitionShape::kCoarse);
  EXPECT_EQ(array.visits(), 1);
}

TEST_F(TableOne, CoarseSplitsAtAPrefixOrASuffix) {
  array.access(0, 40, 1, 1);
  EXPECT_EQ(array.shape(), PartitionShape::kSplit);
  Elements other(kCount);
  other.access(41, 63, 1, 1);
  EXPECT_EQ(other.shape(), PartitionShape::kSplit);
}

TEST_F(TableOne, CoarseBecomesBlocksUnderABlock) {
  array.access(16, 31, 1, 1);
  EXPECT_EQ(array.shape(), PartitionShape::kBlock);
  EXPECT_LE(array.parts(), 4U);
}

TEST_F(TableOne, CoarseBecomesStridedUnderAStride) {
  array.access(2, 62, 4, 1);
  EXPECT_EQ(array.shape(), PartitionShape::kStride);
  EXPECT_EQ(array.visits(), 1);
  EXPECT_LE(array.parts(), 4U);
}

TEST_F(TableOne, CoarseBecomesAPrefixUnderAFewElementsAtTheFront) {
  array.access(2, 4, 2, 1);
  EXPECT_EQ(array.shape(), PartitionShape::kPrefix);
  EXPECT_LE(array.parts(), 6U);
}

TEST_F(TableOne, BlocksBecomeSmallerBlocks) {
  array.access(16, 31, 1, 1);
  array.access(32, 47, 1, 2);
  EXPECT_EQ(array.shape(), PartitionShape::kBlock);
  EXPECT_EQ(array.parts(), 4U);
  array.access(8, 15, 1, 3);
  EXPECT_EQ(array.shape(), PartitionShape::kBlock);
  EXPECT_LE(array.parts(), 8U);
}

TEST_F(TableOne, SplitStaysUnderEitherHalfOrBoth) {
  array.access(0, 40, 1, 1);
  array.access(41, 63, 1, 2);
  array.access(0, 40, 1, 3);
  EXPECT_EQ(array.shape(), PartitionShape::kSplit);
  EXPECT_EQ(array.visits(), 1);
  // And grows coarse again, which the paper's does not.
  array.access(0, 63, 1, 4);
  EXPECT_EQ(array.shape(), PartitionShape::kCoarse);
  EXPECT_EQ(array.visits(), 2);
}

TEST_F(TableOne, SplitBecomesBlocksUnderABlock) {
  array.access(0, 31, 1, 1);
  array.access(16, 47, 1, 2);
  EXPECT_EQ(array.shape(), PartitionShape::kBlock);
  EXPECT_EQ(array.parts(), 3U);
}

TEST_F(TableOne, SplitBecomesAPrefixUnderAFewElementsAtTheFront) {
  array.access(0, 3, 1, 1);
  array.access(5, 6, 1, 2);
  EXPECT_EQ(array.shape(), PartitionShape::kPrefix);
  EXPECT_EQ(array.parts(), 4U);
}

TEST_F(TableOne, StridesBecomeTheirCommonMultiple) {
  Elements twelve(60);
  twelve.access(1, 57, 4, 1);
  twelve.access(2, 58, 4, 2);
  twelve.access(0, 54, 6, 3);
  EXPECT_EQ(twelve.shape(), PartitionShape::kStride);
  EXPECT_LE(twelve.parts(), 12U);
  EXPECT_EQ(twelve.letters().substr(0, 12), twelve.letters().substr(12, 12));
}

TEST_F(TableOne, APrefixStaysUnderItsElementsAndUnderTheRest) {
  for (std::uint64_t at = 0; at < 3; ++at) array.access(at, at, 1, 1 + static_cast<std::uint32_t>(at));
  array.access(3, 63, 1, 9);
  EXPECT_EQ(array.shape(), PartitionShape::kPrefix);
  EXPECT_EQ(array.parts(), 4U);
  array.access(0, 1, 1, 5);
  EXPECT_EQ(array.shape(), PartitionShape::kPrefix);
  EXPECT_EQ(array.parts(), 3U) << "elements with one history are one part";
}

TEST_F(TableOne, APrefixGrows) {
  array.access(0, 2, 2, 1);
  array.access(5, 6, 1, 2);
  EXPECT_EQ(array.shape(), PartitionShape::kPrefix);
  EXPECT_LE(array.parts(), 10U);
}

TEST_F(TableOne, AnythingElseBecomesFine) {
  for (std::uint32_t at = 0; at < kCount; ++at) array.access(at * 23 % kCount, at * 23 % kCount, 1, 1 + at);
  EXPECT_EQ(array.shape(), PartitionShape::kFine);
  EXPECT_GE(array.parts(), kCount / 2);
}

TEST(RunPartition, BlocksOfDifferentLengthsAreRuns) {
  Elements array(64);
  array.access(20, 22, 1, 1);
  array.access(23, 50, 1, 2);
  EXPECT_EQ(array.shape(), PartitionShape::kRuns);
  EXPECT_EQ(array.parts(), 4U);
}

TEST(RunPartition, AStrideOverPartOfTheArrayIsARun) {
  Elements array(64);
  array.access(32, 62, 2, 1);
  EXPECT_EQ(array.parts(), 3U);
  EXPECT_EQ(array.shape(), PartitionShape::kRuns);
  EXPECT_EQ(array.visits(), 1);
}

TEST(RunPartition, AFineArrayIsCoarseAfterOneAccessToAllOfIt) {
  Elements array(4096);
  for (std::uint64_t at = 0; at < 4096; ++at) array.access(at, at, 1, 1 + static_cast<std::uint32_t>(at % 2));
  EXPECT_EQ(array.parts(), 4096U);
  const std::size_t memory = array.memory();
  array.access(0, 4095, 1, 7);
  EXPECT_EQ(array.visits(), 4096);
  EXPECT_EQ(array.shape(), PartitionShape::kCoarse);
  EXPECT_LT(array.memory(), memory / 100);
}

TEST(RunPartition, ColumnsOfAMatrixCostAPartEach) {
  constexpr std::uint64_t kRows = 500;
  constexpr std::uint64_t kColumns = 100;
  Elements matrix(kRows * kColumns);
  for (std::uint64_t column = 0; column < kColumns; ++column) {
    matrix.access(column, (kRows - 1) * kColumns + column, kColumns, 1 + static_cast<std::uint32_t>(column));
    EXPECT_EQ(matrix.visits(), 1);
  }
  EXPECT_EQ(matrix.parts(), kColumns);
  EXPECT_EQ(matrix.shape(), PartitionShape::kStride);
}

TEST(RunPartition, StridesThatNeverMeetAgainAreTakenApart) {
  Elements array(2000);
  for (const std::uint64_t step : {7, 11, 13, 17, 19}) {
    array.access(0, 1999 / step * step, step, static_cast<std::uint32_t>(step));
  }
  array.access(0, 1999, 1, 1);
  EXPECT_EQ(array.shape(), PartitionShape::kCoarse);
}

TEST(RunPartition, WhatIsSettledThroughoutIsNotCut) {
  Elements array(64);
  array.access(0, 63, 1, 1);
  array.access(5, 20, 3, 1);
  EXPECT_EQ(array.visits(), 0);
  EXPECT_EQ(array.shape(), PartitionShape::kCoarse);
}

TEST(RunPartition, PartsOfARangeAreThoseThatReachIntoIt) {
  LastPolicy policy;
  RunPartition<LastPolicy> partition(512);
  const auto never = [](std::uint32_t) { return false; };
  for (std::uint32_t at = 0; at < 4; ++at) {
    partition.access(policy, Footprint::dense(128 * at, 128 * at + 128), never,
                     [&](std::uint32_t& cell, const PartBytes&) { cell = at; });
  }
  std::vector<std::uint32_t> seen;
  partition.for_each_part_in(100, 257, [&](std::uint32_t& cell, const PartBytes&) { seen.push_back(cell); });
  EXPECT_EQ(seen, (std::vector<std::uint32_t>{0, 1, 2}));
}

}  // namespace
}  // namespace deadheat
