// SPDX-License-Identifier: Apache-2.0
// SharedClock: a vector clock with several holders, copied when one of them is
// about to change it (isShared, setShared and clone of the PACER paper).
//
// While nobody samples, a thread's clock hardly ever changes, and every lock that
// the thread releases would get the same copy of it. The holders keep one instead
// and count themselves, so handing a clock on is O(1); the copy is made by the
// first holder that changes its clock, if there is another one by then.
//
// The count is not atomic: all holders belong to one offline analysis.
#pragma once

#include <cstdint>
#include <new>
#include <utility>

#include "base/growable_array.h"
#include "core/vector_clock.h"

namespace deadheat {

template <class Source = HeapSource>
class BasicSharedClock {
 public:
  using Vector = BasicVectorClock<Source>;

  BasicSharedClock() = default;
  BasicSharedClock(const BasicSharedClock& other) : block_(other.block_) {
    if (block_ != nullptr) ++block_->holders;
  }
  BasicSharedClock(BasicSharedClock&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  BasicSharedClock& operator=(BasicSharedClock other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~BasicSharedClock() { reset(); }

  // Holds no clock, which is the clock of zeros.
  [[nodiscard]] bool is_empty() const { return block_ == nullptr; }
  [[nodiscard]] bool is_shared() const { return block_ != nullptr && block_->holders > 1; }
  [[nodiscard]] bool is_same_as(const BasicSharedClock& other) const { return block_ == other.block_; }
  [[nodiscard]] const Vector& value() const { return block_ == nullptr ? kZeros : block_->value; }

  // The clock, to be changed: nobody else holds it then.
  [[nodiscard]] Vector& own() {
    if (block_ == nullptr) {
      block_ = make(Vector{});
    } else if (is_shared()) {
      *this = BasicSharedClock(make(block_->value));
    }
    return block_->value;
  }

  // An element-by-element copy, into memory that it has already if possible.
  void assign(const Vector& value) {
    if (block_ == nullptr || is_shared()) {
      *this = BasicSharedClock(make(value));
    } else {
      block_->value = value;
    }
  }

  void reset() {
    if (block_ != nullptr && --block_->holders == 0) {
      block_->~Block();
      Source::release(block_, sizeof(Block));
    }
    block_ = nullptr;
  }

 private:
  struct Block {
    Vector value;
    std::uint32_t holders = 1;
  };
  static inline const Vector kZeros;

  explicit BasicSharedClock(Block* block) : block_(block) {}
  static Block* make(const Vector& value) { return new (Source::allocate(sizeof(Block))) Block{value}; }

  Block* block_ = nullptr;
};

using SharedClock = BasicSharedClock<>;

}  // namespace deadheat
