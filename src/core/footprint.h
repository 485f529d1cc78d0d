// SPDX-License-Identifier: Apache-2.0
// Footprint: the elements that one place in the code touched in one stretch
// without synchronisation, as a strided range (SlimState, section V.A).
//
// The paper's <b : e : k> counts elements of an array. Here `size` bytes at begin,
// begin + step, ..., `count` times: memory has no element type, and an access
// knows only its own width.
#pragma once

#include <algorithm>
#include <cstdint>

#include "model/identity.h"

namespace deadheat {

struct Footprint {
  Address begin = 0;       // of the lowest element
  std::uint64_t step = 0;  // from one element to the next; without meaning for one
  std::uint64_t count = 0;
  std::uint32_t size = 0;  // of an element

  [[nodiscard]] constexpr Address end() const { return count == 0 ? begin : begin + (count - 1) * step + size; }
  // No gaps: all of [begin, end()).
  [[nodiscard]] constexpr bool is_dense() const { return count <= 1 || step <= size; }

  // All of [begin, end), as bytes.
  [[nodiscard]] static constexpr Footprint dense(Address begin, Address end) { return {begin, 1, end - begin, 1}; }

  friend constexpr bool operator==(const Footprint&, const Footprint&) = default;
};

// A footprint that grows access by access, upwards or downwards: the paper's
// extension algebra. To match the next address and move it on is the hottest step
// of array programs, one comparison and one store. A signal handler, or another
// thread, that looks in between sees a footprint without the latest access.
//
// Loops come again: a turn that starts inside what the footprint has is followed
// like the first one, and may grow it further. Turns of a few accesses are no
// loop but a search; then it is better to begin anew.
class GrowingFootprint {
 public:
  [[nodiscard]] constexpr bool is_empty() const { return size_ == 0; }

  constexpr void start(Address address, std::uint32_t size) {
    first_ = address;
    furthest_ = address;
    turn_ = address;
    step_ = size;  // the likeliest; the second access settles it
    expected_ = address + size;
    size_ = size;
    turns_ = 0;
  }

  // The address is the one that comes next. Then it can be taken by advance().
  [[nodiscard, gnu::always_inline]] constexpr bool expects(Address address) const { return address == expected_; }
  [[gnu::always_inline]] constexpr void advance() { expected_ += static_cast<std::uint64_t>(step_); }
  // The address was taken last; there is nothing to do.
  [[nodiscard, gnu::always_inline]] constexpr bool repeats(Address address) const { return address == last(); }

  // The address continues the footprint, or is in it already.
  [[nodiscard]] constexpr bool extends(Address address) {
    if (expects(address)) {
      advance();
      return true;
    }
    if (repeats(address)) return true;
    return has_one() ? turns_to(address) : starts_again(address);
  }

  [[nodiscard]] constexpr Footprint get() const {
    const std::uint64_t count = std::max(steps_to(furthest_), steps_to(last())) + 1;
    const auto step = static_cast<std::uint64_t>(step_ > 0 ? step_ : -step_);
    return {step_ > 0 ? first_ : first_ - (count - 1) * step, step, count, size_};
  }

  // How often the loop has come again.
  [[nodiscard]] constexpr std::uint32_t turns() const { return turns_; }

  constexpr void clear() { size_ = 0; }

 private:
  [[nodiscard]] constexpr Address last() const { return expected_ - static_cast<std::uint64_t>(step_); }
  [[nodiscard]] constexpr bool has_one() const { return furthest_ == first_ && last() == first_; }
  // From the first element on.
  [[nodiscard]] constexpr std::uint64_t steps_to(Address address) const {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(address - first_) / step_);
  }

  // The second access says which way it goes.
  constexpr bool turns_to(Address address) {
    const std::uint64_t distance = address > first_ ? address - first_ : first_ - address;
    // Elements that overlap are no pattern, and distant ones are no array's.
    if (distance < size_ || distance > kMaxStep) return false;
    step_ = static_cast<std::int64_t>(address - first_);
    expected_ = address + static_cast<std::uint64_t>(step_);
    return true;
  }

  // A new turn: from an element, or from the one behind the last.
  constexpr bool starts_again(Address address) {
    const auto length = static_cast<std::int64_t>(expected_ - turn_);
    if (step_ > 0 ? length < kShortestTurn * step_ : length > kShortestTurn * step_) return false;
    if (steps_to(last()) > steps_to(furthest_)) furthest_ = last();
    const std::int64_t distance = static_cast<std::int64_t>(address - first_);
    const bool is_ahead = step_ > 0 ? distance >= 0 : distance <= 0;
    if (!is_ahead || distance % step_ != 0 || steps_to(address) > steps_to(furthest_) + 1) return false;
    ++turns_;
    turn_ = address;
    expected_ = address + static_cast<std::uint64_t>(step_);
    return true;
  }

  static constexpr std::uint64_t kMaxStep = 1 << 20;
  static constexpr std::int64_t kShortestTurn = 3;

  Address expected_ = 0;
  std::int64_t step_ = 0;
  Address first_ = 0;
  Address furthest_ = 0;  // that an earlier turn reached
  Address turn_ = 0;      // where the present one began
  std::uint32_t size_ = 0;
  std::uint32_t turns_ = 0;
};

}  // namespace deadheat
