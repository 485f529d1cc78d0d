// SPDX-License-Identifier: Apache-2.0
// SharedClock: a vector clock with several holders, copied when one of them is
// about to change it (isShared, setShared and clone of the PACER paper).
//
// While nobody samples, a thread's clock hardly ever changes, and every lock that
// the thread releases would get the same copy of it. The holders keep one instead
// and count themselves, so handing a clock on is O(1); the copy is made by the
// first holder that changes its clock, if there is another one by then.
//
// Holders may belong to different threads: the count is atomic, and a clock that has
// several holders is never changed. Each holder by itself is protected by whoever
// has it.
#pragma once

#include <atomic>
#include <cstdint>
#include <new>
#include <utility>

#include "base/growable_array.h"
#include "base/immortal.h"
#include "core/vector_clock.h"

namespace deadheat {

template <class Source = HeapSource>
class BasicSharedClock {
 public:
  using Vector = BasicVectorClock<Source>;

  BasicSharedClock() = default;
  BasicSharedClock(const BasicSharedClock& other) : block_(other.block_) {
    if (block_ != nullptr) block_->holders.fetch_add(1, std::memory_order_relaxed);
  }
  BasicSharedClock(BasicSharedClock&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  BasicSharedClock& operator=(BasicSharedClock other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~BasicSharedClock() { reset(); }

  // Holds no clock, which is the clock of zeros.
  [[nodiscard]] bool is_empty() const { return block_ == nullptr; }
  // Acquire: what others read of it before they let go comes before what this changes.
  [[nodiscard]] bool is_shared() const {
    return block_ != nullptr && block_->holders.load(std::memory_order_acquire) > 1;
  }
  [[nodiscard]] bool is_same_as(const BasicSharedClock& other) const { return block_ == other.block_; }
  [[nodiscard]] const Vector& value() const { return block_ == nullptr ? *zeros : block_->value; }

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
    if (block_ != nullptr && block_->holders.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      block_->~Block();
      Source::release(block_, sizeof(Block));
    }
    block_ = nullptr;
  }

 private:
  struct Block {
    Vector value;
    std::atomic<std::uint32_t> holders{1};
  };
  static inline constinit Immortal<Vector> zeros;

  explicit BasicSharedClock(Block* block) : block_(block) {}
  static Block* make(const Vector& value) { return new (Source::allocate(sizeof(Block))) Block{value, 1}; }

  Block* block_ = nullptr;
};

using SharedClock = BasicSharedClock<>;

}  // namespace deadheat
