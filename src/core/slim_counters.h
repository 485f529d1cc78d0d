// SPDX-License-Identifier: Apache-2.0
// What SlimState counts: how many arrays there were, in which shape each ended
// (at its free, or at the end of the trace), and what footprints saved.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/detector.h"
#include "core/run_partition.h"

namespace deadheat {

// An array at the end of its life.
struct ArrayLife {
  std::uint64_t bytes = 0;
  std::uint64_t parts = 0;
  std::uint64_t element = 0;  // bytes of the smallest access; 0: never accessed
  PartitionShape shape = PartitionShape::kCoarse;
};

struct SlimCounters {
  std::uint64_t footprints = 0;  // committed
  std::uint64_t accesses = 0;    // in them
  std::uint64_t checks = 0;      // of parts, for them

  void count_array(const ArrayLife& life) {
    ++arrays_;
    bytes_ += life.bytes;
    ++shapes_[static_cast<int>(life.shape)];
    // An array that nobody accessed says nothing about the shadow it needs.
    if (life.element == 0) return;
    parts_ += life.parts;
    elements_ += std::max<std::uint64_t>(1, life.bytes / life.element);
  }
  // It got ordinary cells.
  void count_given_up(ArrayLife life) {
    life.shape = PartitionShape::kFine;
    if (life.element != 0) life.parts = std::max<std::uint64_t>(1, life.bytes / life.element);
    count_array(life);
    ++given_up_;
  }

  [[nodiscard]] std::vector<Counter> list() const {
    static constexpr const char* kNames[kPartitionShapeCount] = {
        "arrays COARSE", "arrays SPLIT", "arrays BLOCK", "arrays STRIDE", "arrays PREFIX", "arrays RUNS", "arrays FINE",
    };
    std::vector<Counter> result = {
        {"arrays", arrays_},
        {"array bytes", bytes_},
        {"array elements", elements_},
        {"array parts", parts_},
        {"parts per million elements", elements_ == 0 ? 0 : parts_ * 1'000'000 / elements_},
    };
    for (int shape = 0; shape < kPartitionShapeCount; ++shape) result.push_back({kNames[shape], shapes_[shape]});
    result.push_back({"arrays given ordinary cells", given_up_});
    result.push_back({"footprints", footprints});
    result.push_back({"accesses in footprints", accesses});
    result.push_back({"parts checked", checks});
    result.push_back({"checks avoided", accesses > checks ? accesses - checks : 0});
    return result;
  }

 private:
  std::uint64_t arrays_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t parts_ = 0;
  std::uint64_t elements_ = 0;
  std::uint64_t shapes_[kPartitionShapeCount] = {};
  std::uint64_t given_up_ = 0;
};

}  // namespace deadheat
