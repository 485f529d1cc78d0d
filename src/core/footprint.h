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
class GrowingFootprint {
 public:
  [[nodiscard]] constexpr bool is_empty() const { return size_ == 0; }

  constexpr void start(Address address, std::uint32_t size) {
    first_ = address;
    step_ = static_cast<std::int64_t>(size);  // the likeliest; the second access settles it
    next_ = address + size;
    size_ = size;
  }

  // The address continues the footprint, or is in it already.
  [[nodiscard, gnu::always_inline]] constexpr bool extends(Address address) {
    if (address != next_) return extends_otherwise(address);
    next_ = address + static_cast<std::uint64_t>(step_);
    return true;
  }

  [[nodiscard]] constexpr Footprint get() const {
    const auto distance = static_cast<std::int64_t>(next_ - first_);
    const auto count = static_cast<std::uint64_t>(std::max<std::int64_t>(1, distance / step_));
    const auto step = static_cast<std::uint64_t>(step_ > 0 ? step_ : -step_);
    return {step_ > 0 ? first_ : first_ - (count - 1) * step, step, count, size_};
  }

  constexpr void clear() { size_ = 0; }

 private:
  // The same again, or the second one, which says which way it goes.
  constexpr bool extends_otherwise(Address address) {
    const Address last = next_ - static_cast<std::uint64_t>(step_);
    if (address == last) return true;
    if (last != first_) return contains(address);
    const std::uint64_t distance = address > last ? address - last : last - address;
    // Elements that overlap are no pattern, and distant ones are no array's.
    if (distance < size_ || distance > kMaxStep) return false;
    step_ = static_cast<std::int64_t>(address - last);
    next_ = address + static_cast<std::uint64_t>(step_);
    return true;
  }
  [[nodiscard]] constexpr bool contains(Address address) const {
    const Footprint all = get();
    return address >= all.begin && address < all.end() && (address - all.begin) % all.step == 0;
  }

  static constexpr std::uint64_t kMaxStep = 1 << 20;

  Address next_ = 0;
  std::int64_t step_ = 0;
  Address first_ = 0;
  std::uint32_t size_ = 0;
};

}  // namespace deadheat
